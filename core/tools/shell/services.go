// Package shell provides the tools that run commands and manage background processes: run_shell_command and the tools to
// list, read, write to and stop background processes. The process service of the session does the work; the tools format
// the results.
package shell

import (
	"context"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// Services are the session services of these tools. The first five are required; all must be safe for concurrent use.
type Services struct {
	Paths       Paths
	Directories Directories
	Runner      Runner
	Reader      Reader
	Control     Control
	Seen        Seen // nil: no record of read files

	// Terminal runs every command at a terminal of its own, so that programs behave as for an interactive user. It
	// requires process.TerminalsExist.
	Terminal bool

	// Confinement returns the confinement of the Runner's commands, of each or, with PerCommand, of those that policy
	// lets run confined, for the model's diagnosis of failures; its
	// Writable are the directories in addition to those of the workspace. nil: none.
	Confinement func() process.Confinement

	// Settle is how long a new background process is watched before its call returns, so that an immediate failure is
	// reported. Zero: 200 ms.
	Settle time.Duration

	// Results limits the output in one result. nil: only the limits of Runner and Reader apply.
	Results Results
}

// Results returns the maximum size of the text of one result in bytes; *filestate.Service implements it.
type Results interface {
	ResultBytes() int
}

// confinement returns the confinement of commands; nil for none.
func (s Services) confinement() *process.Confinement {
	if s.Confinement == nil {
		return nil
	}
	c := s.Confinement()
	return &c
}

// outputBytes returns the maximum size of the output in one result, without the lines about the command; 0 for no limit.
func (s Services) outputBytes() int {
	if s.Results == nil {
		return 0
	}
	const least, beside = 400, 1200
	return max(s.Results.ResultBytes()-beside, least)
}

// readBytes returns the limit of one read of a background process's output; 0 for the Reader's own.
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

// Paths resolves a path parameter inside the workspace; *workspace.Workspace implements it.
type Paths interface {
	Resolve(path string) (workspace.Path, error)
}

// Directories inspects a path; *workspace.Workspace implements it.
type Directories interface {
	Stat(p workspace.Path) (workspace.Info, error)
}

// Runner runs commands; *process.Service implements it.
type Runner interface {
	Run(ctx context.Context, c process.Command) (process.Result, error)
	Start(ctx context.Context, c process.Command) (process.Info, error)
}

// Reader reads the state and output of background processes; *process.Service implements it.
type Reader interface {
	List() []process.Info
	Read(ctx context.Context, id string, o process.ReadOptions) (process.Unread, error)
}

// Control controls background processes; *process.Service implements it.
type Control interface {
	Write(ctx context.Context, id, data string, end bool) error
	Kill(ctx context.Context, id string) (process.Info, error)
}

// Seen returns the files that the session has read and that have changed since, and forgets them; *filestate.Service
// implements it.
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

// Factory builds one of these tools for a session.
type Factory = tools.Factory[Services]

// Factories returns the factories of all tools of this package, which all belong to the default set. They are immutable
// and shared by every session of the process.
func Factories() ([]*Factory, error) { return factories() }

// failed classifies an error; an ended ctx is a cancellation.
func failed(ctx context.Context, op string, err error) *fault.Error {
	if e := fault.As(err); e != nil {
		return e
	}
	if ctx.Err() != nil {
		return fault.Wrap(fault.Cancelled, op, "The call was cancelled.", "", err)
	}
	return fault.Wrap(fault.ShellExecuteError, op, err.Error(), "", err)
}
