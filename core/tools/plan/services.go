// Package plan provides the tools for planning: write_todos keeps a list of todos, enter_plan_mode and exit_plan_mode
// enter and leave plan mode with the user's consent.
package plan

import (
	"context"
	"os"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// Services are the session services of these tools. All are required, and must be safe for concurrent use.
type Services struct {
	Todos Keeper
	Mode  Mode
	Files Files
	// Dir is the absolute directory of plans, inside the workspace. It need not exist.
	Dir string
}

// Keeper stores the list of todos of one conversation; [Todos] implements it.
type Keeper interface {
	// Set replaces the list, which it must not retain; an empty one clears it.
	Set(todos []tools.Todo)
}

// Mode is the approval mode of the session that the tools are bound to.
type Mode interface {
	// Mode returns the current mode.
	Mode() string
	// EnterPlan switches to plan mode.
	EnterPlan(ctx context.Context) error
	// LeavePlan restores the mode from before plan mode, as given by [ModeAfter], and returns it.
	LeavePlan(ctx context.Context) (string, error)
}

// Files finds and reads plans; *workspace.Workspace implements it.
type Files interface {
	Resolve(path string) (workspace.Path, error)
	RealPath(path string) (string, error)
	OpenRead(p workspace.Path) (*os.File, error)
	MakeParents(p workspace.Path) (undo func(), err error)
}

// The approval modes that this package refers to.
const (
	planMode    = "plan"
	defaultMode = "default"
	yoloMode    = "yolo"
)

// ModeAfter returns the mode to use after plan mode, given the previous one, which is "" if unknown. It is never yolo:
// approval of a plan is not approval of all later calls.
func ModeAfter(before string) string {
	switch before {
	case "", planMode, yoloMode:
		return defaultMode
	}
	return before
}

// Hidden returns the names of the tools that are of no use in a mode: enter_plan_mode in plan mode, and exit_plan_mode
// otherwise.
func Hidden(mode string) []string {
	if mode == planMode {
		return []string{EnterPlanMode}
	}
	return []string{ExitPlanMode}
}

// The names of the tools.
const (
	WriteTodos    = "write_todos"
	EnterPlanMode = "enter_plan_mode"
	ExitPlanMode  = "exit_plan_mode"
)

// Factory builds one of these tools for a session.
type Factory = tools.Factory[Services]

// Factories returns the factories of all tools of this package, which all belong to the default set. They are immutable
// and shared by every session of the process.
func Factories() ([]*Factory, error) { return factories() }

// factories builds the immutable factories once for the process.
var factories = sync.OnceValues(func() ([]*Factory, error) {
	var made []*Factory
	for _, make := range []func() (*Factory, error){newWriteTodos, newEnterPlanMode, newExitPlanMode} {
		f, err := make()
		if err != nil {
			return nil, err
		}
		made = append(made, f)
	}
	return made, nil
})

// failed classifies an error; an ended ctx is a cancellation.
func failed(ctx context.Context, op string, err error) *fault.Error {
	if e := fault.As(err); e != nil {
		return e
	}
	if ctx.Err() != nil {
		return fault.Wrap(fault.Cancelled, op, "The call was cancelled.", "", err)
	}
	return fault.Wrap(fault.ExecutionFailed, op, err.Error(), "", err)
}
