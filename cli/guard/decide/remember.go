package decide

import (
	"context"

	"github.com/fettle-dev/fettle/core/policy"
)

// Narrow returns the rules that remember the approval of a call; see
// [policy.Engine.Narrow].
func (e *Engine) Narrow(_ context.Context, call Call, s policy.Scope) ([]policy.Rule, error) {
	return e.engine.Narrow(policy.Call{Tool: call.Tool, Params: call.Args, Server: call.Server, ServerTool: call.ServerTool}, s)
}

// Add adds rules for the lifetime of the Engine.
func (e *Engine) Add(rules ...policy.Rule) error { return e.engine.Add(rules...) }
