// Package adk provides the tools of a session to agents of Google's Agent Development
// Kit, google.golang.org/adk/v2.
package adk

import (
	"cmp"
	"context"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/platform"
	"google.golang.org/adk/v2/tool"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/model"
)

// Options configure a toolset. The zero value asks for approval with the ADK's
// confirmations.
type Options struct {
	Name string // of the toolset; "": fettle
	// Dialect is the schema dialect of the agent's model. "": Gemini's.
	Dialect model.Dialect
	// NoConfirmations denies calls that need approval if no approver on the Config's
	// message bus answers.
	NoConfirmations bool
}

// toolset implements tool.Toolset.
type toolset struct {
	config *config.Config
	o      Options
}

// New returns the tools of an initialized session for llmagent.Config.Toolsets. They
// are listed again for each invocation of the agent. One Config serves one ADK
// session: the files that a conversation has read count for it alone.
//
// A call runs through the session's scheduler. Its result is an object with "output"
// and, on failure or denial, "error"; it is never an ADK error, which would hide the
// file state in a refusal. Images and other data are omitted, because function
// responses of the ADK cannot contain them.
//
// An approval request that has no approver on the message bus is sent as an ADK
// confirmation: the invocation ends with a call of adk_request_confirmation whose
// hint describes the call, and whose payload is the [bus.ToolConfirmationRequest].
// Once the user's function response has "confirmed", the call is made again. An
// approval applies to the request that was shown; if the call has changed, the user
// is asked again. The response's "payload" may be a [bus.ToolConfirmationResponse],
// for a lasting outcome or a comment for the model.
//
// The ADK runs the calls of one response concurrently; see [InOrder].
func New(c *config.Config, o Options) tool.Toolset {
	o.Name, o.Dialect = cmp.Or(o.Name, "fettle"), cmp.Or(o.Dialect, model.DialectGemini)
	return &toolset{c, o}
}

// Name implements tool.Toolset.
func (s *toolset) Name() string { return s.o.Name }

// Tools implements tool.Toolset. Errors are those of [config.Config.Declarations].
func (s *toolset) Tools(agent.ReadonlyContext) ([]tool.Tool, error) {
	declared, err := s.config.Declarations(s.o.Dialect)
	if err != nil {
		return nil, err
	}
	tools := make([]tool.Tool, len(declared))
	for i, d := range declared {
		tools[i] = &one{s, d}
	}
	return tools, nil
}

// InOrder returns a ctx for the runner with which the calls of one response run one
// after another in the model's order, as a fettle session runs them if one of them
// changes something.
func InOrder(ctx context.Context) context.Context {
	return platform.WithTaskRunner(ctx, func(ctx context.Context, tasks []func(context.Context)) {
		for _, task := range tasks {
			task(ctx)
		}
	})
}
