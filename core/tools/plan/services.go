// Package plan holds the tools that keep a list of todos, and that enter and
// leave plan mode with the person's consent.
package plan

import (
	"context"
	"os"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// Services are what a session lends to these tools. All are required; every
// one must be safe for concurrent use.
type Services struct {
	Todos Keeper
	Mode  Mode
	Files Files
	// Dir is the absolute directory of plans, inside the workspace. It need not
	// exist.
	Dir string
}

// Keeper keeps the list of todos of one conversation; [Todos] is one.
type Keeper interface {
	// Set replaces the list, which it may not keep a hold of; an empty one
	// clears it.
	Set(todos []tools.Todo)
}

// Mode is the approval mode of the session that the tools are bound to, and of
// no other.
type Mode interface {
	// Mode returns the mode in force.
	Mode() string
	// EnterPlan puts plan mode in force.
	EnterPlan(ctx context.Context) error
	// LeavePlan puts the mode in force that was before plan mode, as
	// [ModeAfter] says, and returns it.
	LeavePlan(ctx context.Context) (string, error)
}

// Files finds and reads plans; *workspace.Workspace has it.
type Files interface {
	Resolve(path string) (workspace.Path, error)
	OpenRead(p workspace.Path) (*os.File, error)
	MakeParents(p workspace.Path) (undo func(), err error)
}

// The approval modes that this package knows by name.
const (
	planMode    = "plan"
	defaultMode = "default"
	yoloMode    = "yolo"
)

// ModeAfter returns the mode to go on in once plan mode is left, given the one
// that was in force before it, "" where that is not known. It is never yolo: a
// person who approves a plan has not approved that nothing is asked any more.
func ModeAfter(before string) string {
	switch before {
	case "", planMode, yoloMode:
		return defaultMode
	}
	return before
}

// Hidden returns the names of the tools that are of no use in a mode: the way
// into plan mode where it is in force, and the way out where it is not.
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

// Factory makes one of these tools for a session.
type Factory = tools.Factory[Services]

// Factories returns the factories of all tools of this package, which all
// belong to a session that names none (AR-10). They are immutable and shared by
// every session of the process.
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

// failed gives an error a class; an ended ctx is cancelled.
func failed(ctx context.Context, op string, err error) *fault.Error {
	if e := fault.As(err); e != nil {
		return e
	}
	if ctx.Err() != nil {
		return fault.Wrap(fault.Cancelled, op, "The call was cancelled.", "", err)
	}
	return fault.Wrap(fault.ExecutionFailed, op, err.Error(), "", err)
}
