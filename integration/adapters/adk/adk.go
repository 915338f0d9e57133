// Package adk gives the tools of a session to agents of Google's Agent Development
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

// Options say how a session's tools are given to agents. The zero value asks by
// the kit's own confirmations.
type Options struct {
	Name string // of the toolset; "": fettle
	// Dialect is whose schemas the agent's model takes. "": Gemini's.
	Dialect model.Dialect
	// NoConfirmations refuses what has to be asked about where nobody on the
	// Config's message bus answers.
	NoConfirmations bool
}

// toolset implements tool.Toolset.
type toolset struct {
	config *config.Config
	o      Options
}

// New returns the tools of a session, which must be initialized, for
// llmagent.Config.Toolsets. They are listed anew for each invocation of the agent.
// One Config serves one session of the kit's: what a conversation has read counts
// for it alone.
//
// A call goes through the session's whole path. What it answers has "output" and,
// on failure or refusal, "error", as an object; it is never an error of the kit's,
// which would hide the state of a file that comes with a refusal. Pictures and
// other data are left out, as the kit's function responses have no place for them.
//
// A question that nobody on the message bus answers is asked by the kit's
// confirmation: the invocation ends with a call of adk_request_confirmation whose
// hint says what would be done, and whose payload is the
// [bus.ToolConfirmationRequest]. Once the user's function response has
// "confirmed", the call is made again. A yes holds for what was shown; where that
// has changed the user is asked once more. The response's "payload" may be a
// [bus.ToolConfirmationResponse], for an outcome that lasts or words for the model.
//
// The kit runs the calls of one answer at once; see [InOrder].
func New(c *config.Config, o Options) tool.Toolset {
	o.Name, o.Dialect = cmp.Or(o.Name, "fettle"), cmp.Or(o.Dialect, model.DialectGemini)
	return &toolset{c, o}
}

// Name implements tool.Toolset.
func (s *toolset) Name() string { return s.o.Name }

// Tools implements tool.Toolset. Errors are those of
// [config.Config.Declarations].
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

// InOrder returns a ctx for the runner under which the calls of one answer run one
// after the other, in the order in which the model made them, as they would in a
// session of fettle's own wherever one of them changes something.
func InOrder(ctx context.Context) context.Context {
	return platform.WithTaskRunner(ctx, func(ctx context.Context, tasks []func(context.Context)) {
		for _, task := range tasks {
			task(ctx)
		}
	})
}
