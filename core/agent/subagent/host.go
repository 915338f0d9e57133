package subagent

import (
	"context"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/tools"
)

// Host makes what a run of an agent needs. Its method is safe for concurrent
// use: several agents run at once, and each run has a session of its own.
type Host interface {
	// Begin derives a session from the caller's for one run of d, with
	// its own file state, registry and policy scope, under d's name and, where
	// d.Model is not "", on that model. The run restricts it to the tools that d
	// lists. d must not be changed; ctx bounds Begin alone. An error that is a
	// *fault.Error is told to the caller.
	Begin(ctx context.Context, d *Definition) (*Session, error)
}

// Session is what one run of an agent works with, and nobody else.
type Session struct {
	// Agent are the parts of the conversation. Source, Model and Scheduler are
	// required, and System, where it is set, gives what follows the agent's own
	// prompt: directories, instruction files, the mode. The run itself sets Tools,
	// History, Temperature, Purpose and the limit on turns.
	Agent agent.Options
	// Registry holds the tools that there are, and that the scheduler runs;
	// required. The run registers the definition's Values in it.
	Registry Registry
	// Outer are the agents whose task the run is a part of, as they called the agent
	// or one that did: it has none of the Registry's tools that one of them has not.
	Outer []*Definition
	// Granted are names of the Registry's tools that the agent has beside those
	// that its definition lists. nil: none.
	Granted []string
	// SchedulerID is the scheduler's in its messages, by which the run knows
	// that a person is asked. "": the time is not stopped meanwhile.
	SchedulerID string
	// Changed returns the absolute paths that the session has changed, as far as
	// it knows, once the run is over. What the results of calls show is added.
	// nil: nothing else is known.
	Changed func() []string
	// Close ends the session once nothing of the run is left. nil: nothing to end.
	Close func() error
}

// Registry is a session's tools; *tools.Registry has it.
type Registry interface {
	All() []tools.DeclarativeTool
	Declarations() []tools.FunctionDeclaration
	Register(t tools.DeclarativeTool) error
}
