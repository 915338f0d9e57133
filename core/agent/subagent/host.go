package subagent

import (
	"context"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/tools"
)

// Host creates the session of a run. Its method is safe for concurrent use: several agents run at
// once, each with its own session.
type Host interface {
	// Begin derives a session from the caller's for one run of d. It has its own file state,
	// registry and policy scope, under d's name, and uses d.Model unless that is "". The run
	// restricts it to the tools that d lists. d must not be changed. ctx applies only to Begin. A
	// *fault.Error is reported to the caller.
	Begin(ctx context.Context, d *Definition) (*Session, error)
}

// Session is the session of one run of an agent. It is not shared.
type Session struct {
	// Agent configures the conversation. Source, Model and Scheduler are required. System, if set,
	// returns the text after the agent's own prompt: directories, context files, the mode. The run
	// itself sets Tools, History, Temperature, Purpose and the limit on turns.
	Agent agent.Options
	// Registry has the available tools, which the scheduler runs; required. The run registers the
	// definition's Values in it.
	Registry Registry
	// Outer are the agents that called this one, directly or through other agents. The run has no
	// tool of the Registry that one of them lacks.
	Outer []*Definition
	// Granted are names of the Registry's tools that the agent has in addition to those of its
	// definition. nil: none.
	Granted []string
	// SchedulerID identifies the scheduler in bus messages, by which the run knows that it waits
	// for the user. "": waits count as running time.
	SchedulerID string
	// Changed returns the absolute paths of the files that the session is known to have changed,
	// after the run. Changes in the results of calls are added. nil: no others are known.
	Changed func() []string
	// Settle is called after the run if the session works on a fork: it merges the fork if the run is done, or else
	// keeps it. It returns a report for the caller, and the absolute paths that it changed; Changed and the results
	// of calls do not count then. nil: the session works on the caller's files.
	Settle func(ctx context.Context, done bool) (report string, changed []string)
	// Close ends the session after the run. nil: nothing to end.
	Close func() error
}

// Registry is a session's tools; *tools.Registry implements it.
type Registry interface {
	All() []tools.DeclarativeTool
	Declarations() []tools.FunctionDeclaration
	Register(t tools.DeclarativeTool) error
}
