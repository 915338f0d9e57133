package program

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/fault"
)

// ExitCode is the exit code of the process.
type ExitCode int

// The exit codes that commands return; docs/cli.md lists all of them.
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

// ExitError ends the program with an exit code. If Err is nil, the error has been
// reported already.
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

// UsageFault returns the error of an invalid command line.
func UsageFault(err error) error {
	if fault.As(err) != nil {
		return err
	}
	message, _, _ := strings.Cut(err.Error(), "\n")
	return fault.New(fault.InvalidToolParams, "cli", display.Sentence(message), "See fettle --help.")
}

// UsageError returns an error for a mistake in the command line.
func UsageError(message, remedy string) error {
	return &ExitError{Code: ExitUsage, Err: fault.New(fault.InvalidToolParams, "cli", message, remedy)}
}

// Interrupted returns the error for Ctrl-C.
func Interrupted() error {
	return &ExitError{Code: ExitInterrupted, Err: fault.New(fault.Cancelled, "cli", "Interrupted.", "")}
}

// AsFault returns err as a fault with a code.
func AsFault(err error) *fault.Error {
	if f := fault.As(err); f != nil {
		return f
	}
	return fault.Wrap(fault.ExecutionFailed, "cli", display.Sentence(err.Error()), "", err)
}
