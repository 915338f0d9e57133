package tools

import (
	"fmt"
	"runtime/debug"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

// Defect is a mistake in a tool's code that came up during a call: a panic,
// or a broken promise. It is for the host and its logs; [Defect.Fault] is
// what a model may see of it.
type Defect struct {
	Tool  string // the tool's name
	Step  string // what ran: "build", "confirm", "execute"
	Cause any    // the panic's value, or what was broken
	Stack []byte // of the panic; empty when there was none
}

// Error returns the defect with its stack.
func (d *Defect) Error() string {
	s := fmt.Sprintf("tool %q, step %s: %v", d.Tool, d.Step, d.Cause)
	if len(d.Stack) > 0 {
		s += "\n" + string(d.Stack)
	}
	return s
}

// Unwrap returns the cause where that is an error.
func (d *Defect) Unwrap() error {
	err, _ := d.Cause.(error)
	return err
}

// Fault describes the defect to a model, without stack: code
// unhandled_exception.
func (d *Defect) Fault() *fault.Error {
	e := fault.New(fault.UnhandledException, "tools."+d.Step,
		fmt.Sprintf("The tool %s failed unexpectedly: %s.", d.Tool, escape.ClipBytes(fmt.Sprint(d.Cause), 500)),
		"This is a defect in the tool. Do not repeat the same call; reach the goal in another way.")
	e.Short = d.Tool + " failed unexpectedly"
	return e
}

// Protect runs one step of a tool's call and turns a panic into a *[Defect]
// with its stack. Whoever calls a tool that it did not write goes through it.
func Protect(tool, step string, run func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &Defect{Tool: tool, Step: step, Cause: cause, Stack: debug.Stack()}
		}
	}()
	return run()
}
