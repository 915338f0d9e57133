package program

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/fault"
)

// ExitCode is what the process tells its caller.
type ExitCode int

// The exit codes that a command here can end with; docs/cli.md has them all.
const (
	ExitDone        ExitCode = 0
	ExitToolError   ExitCode = 1
	ExitUsage       ExitCode = 2
	ExitDenied      ExitCode = 3
	ExitConfig      ExitCode = 4
	ExitLimit       ExitCode = 5
	ExitUntrusted   ExitCode = 55
	ExitInterrupted ExitCode = 130
)

// ExitError ends the program with a code. A nil err has been reported already.
type ExitError struct {
	Code ExitCode
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// UsageFault words a command line that cannot be understood.
func UsageFault(err error) error {
	if fault.As(err) != nil {
		return err
	}
	message, _, _ := strings.Cut(err.Error(), "\n")
	return fault.New(fault.InvalidToolParams, "cli", display.Sentence(message), "See fettle --help.")
}

// UsageError is a mistake in the command line.
func UsageError(message, remedy string) error {
	return &ExitError{Code: ExitUsage, Err: fault.New(fault.InvalidToolParams, "cli", message, remedy)}
}

// Interrupted is the end by Ctrl-C.
func Interrupted() error {
	return &ExitError{Code: ExitInterrupted, Err: fault.New(fault.Cancelled, "cli", "Interrupted.", "")}
}

// AsFault gives err a class.
func AsFault(err error) *fault.Error {
	if f := fault.As(err); f != nil {
		return f
	}
	return fault.Wrap(fault.ExecutionFailed, "cli", display.Sentence(err.Error()), "", err)
}
