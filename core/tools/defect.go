package tools

import (
	"fmt"
	"runtime/debug"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

// Defect is a bug in a tool that occurred during a call: a panic, or a violation of the contract. It is for the host and
// its logs; [Defect.Fault] returns the part for the model.
type Defect struct {
	Tool  string // the tool's name
	Step  string // the step: "build", "confirm", "execute"
	Cause any    // the panic value, or the violation
	Stack []byte // of the panic; empty without one
}

// Error returns the defect with its stack.
func (d *Defect) Error() string {
	s := fmt.Sprintf("tool %q, step %s: %v", d.Tool, d.Step, d.Cause)
	if len(d.Stack) > 0 {
		s += "\n" + string(d.Stack)
	}
	return s
}

// Unwrap returns the cause if it is an error.
func (d *Defect) Unwrap() error {
	err, _ := d.Cause.(error)
	return err
}

// Fault returns the defect as an error for the model, without stack, with code unhandled_exception.
func (d *Defect) Fault() *fault.Error {
	e := fault.New(fault.UnhandledException, "tools."+d.Step,
		fmt.Sprintf("The tool %s failed unexpectedly: %s.", d.Tool, escape.ClipBytes(fmt.Sprint(d.Cause), 500)),
		"This is a bug in the tool. Do not repeat the same call; use another approach.")
	e.Short = d.Tool + " failed unexpectedly"
	return e
}

// Protect runs one step of a call and converts a panic to a *[Defect] with its stack. Callers of tools that are not
// their own use it.
func Protect(tool, step string, run func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &Defect{Tool: tool, Step: step, Cause: cause, Stack: debug.Stack()}
		}
	}()
	return run()
}
