package agent

import (
	"fmt"
	"runtime/debug"

	"github.com/fettle-dev/fettle/core/fault"
)

// guard calls a function of the embedding program. A panic is logged with its stack and becomes an error with code
// unhandled_exception.
func (c *Client) guard(operation string, run func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = c.defect(operation, cause)
		}
	}()
	return run()
}

// defect logs a panic and returns its error for the user.
func (c *Client) defect(operation string, cause any) *fault.Error {
	if c.o.Logger != nil {
		c.o.Logger.Error("panic in "+operation, "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
	}
	return fault.New(fault.UnhandledException, "agent.guard", fmt.Sprintf("%s failed unexpectedly: %.500s.", capital(operation), fmt.Sprint(cause)),
		"This is a bug in the program; report it.")
}

// asFault converts err to a fault for the user; what names the failed part.
func asFault(operation string, err error) *fault.Error {
	if f := fault.As(err); f != nil {
		return f
	}
	return fault.Wrap(fault.AgentFailed, "agent.run", fmt.Sprintf("%s failed: %.500s.", capital(operation), err.Error()), "", err)
}

func capital(text string) string {
	if text != "" && text[0] >= 'a' && text[0] <= 'z' {
		return string(text[0]-'a'+'A') + text[1:]
	}
	return text
}
