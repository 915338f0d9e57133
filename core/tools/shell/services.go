// Package shell holds the tools that run commands and keep background
// processes. The session's process service does the work; a tool gives the
// answer its form.
package shell

import (
	"context"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// Services are what a session lends to these tools. The first five are
// required; every one must be safe for concurrent use.
type Services struct {
	Paths   Paths
	Folders Folders
	Runner  Runner
	Reader  Reader
	Control Control
	Seen    Seen // nil: nobody has read files

	// Terminal runs every command at a terminal of its own, so that programs show
	// what they would show a person. It needs process.TerminalsExist.
	Terminal bool

	// Confinement is what holds for the Runner's commands, so that the model is
	// told of it where a command fails; its Writable are the directories beside those
	// of the workspace. nil: nothing.
	Confinement *process.Confinement

	// Settle is how long a new background process is watched before its call
	// returns, so that one that fails at once is seen to. Zero: 200 ms.
	Settle time.Duration

	// Results bounds how much output one result has. nil: the Runner's and the
	// Reader's own limits alone.
	Results Results
}

// Results tells how many bytes the text of one result may have; *filestate.Service
// has it.
type Results interface {
	ResultBytes() int
}

// outputBytes returns how much output a result has room for beside what is said of
// the command; 0 for no limit.
func (s Services) outputBytes() int {
	if s.Results == nil {
		return 0
	}
	const least, beside = 400, 1200
	return max(s.Results.ResultBytes()-beside, least)
}

// readBytes returns the limit of one read of a background process's output; 0 for
// the Reader's own.
func (s Services) readBytes() int {
	const usual = 32_000
	if n := s.outputBytes(); n < usual {
		return n
	}
	return 0
}

func (s Services) settle() time.Duration {
	if s.Settle == 0 {
		return 200 * time.Millisecond
	}
	return s.Settle
}

// Paths turns a path parameter into a name inside the workspace (TO-01);
// *workspace.Workspace has it.
type Paths interface {
	Resolve(path string) (workspace.Path, error)
}

// Folders tells what lies at a path; *workspace.Workspace has it.
type Folders interface {
	Stat(p workspace.Path) (workspace.Info, error)
}

// Runner runs commands; *process.Service has it.
type Runner interface {
	Run(ctx context.Context, c process.Command) (process.Result, error)
	Start(ctx context.Context, c process.Command) (process.Info, error)
}

// Reader tells of background processes; *process.Service has it.
type Reader interface {
	List() []process.Info
	Read(ctx context.Context, id string, o process.ReadOptions) (process.Unread, error)
}

// Control acts on background processes; *process.Service has it.
type Control interface {
	Write(ctx context.Context, id, data string, end bool) error
	Kill(ctx context.Context, id string) (process.Info, error)
}

// Seen finds the files that the session has read and that have changed since,
// and forgets them (RC-35); *filestate.Service has it.
type Seen interface {
	Touched(ctx context.Context, resolve func(path string) (workspace.Path, error)) (changed, gone []string)
}

// The names of the tools.
const (
	RunShellCommand  = "run_shell_command"
	ListBackground   = "list_background_processes"
	ReadBackground   = "read_background_output"
	WriteBackground  = "write_background_input"
	StopBackground   = "stop_background_process"
	shellAlias       = "ShellTool"
	confirmTitle     = "Confirm Shell Command"
	backgroundAdvice = "Read its output with " + ReadBackground + ", write to it with " + WriteBackground + ", end it with " + StopBackground + "; it ends with the session."
)

// Factory makes one of these tools for a session.
type Factory = tools.Factory[Services]

// Factories returns the factories of all tools of this package, which all
// belong to a session that names none (AR-10). The factories are immutable and
// shared by every session of the process.
func Factories() ([]*Factory, error) { return factories() }

// failed gives an error a class; an ended ctx is cancelled.
func failed(ctx context.Context, op string, err error) *fault.Error {
	if e := fault.As(err); e != nil {
		return e
	}
	if ctx.Err() != nil {
		return fault.Wrap(fault.Cancelled, op, "The call was cancelled.", "", err)
	}
	return fault.Wrap(fault.ShellExecuteError, op, err.Error(), "", err)
}
