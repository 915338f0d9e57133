package agent

import (
	"fmt"
	"runtime/debug"

	"github.com/fettle-dev/fettle/core/fault"
)

// guard runs a function of the program that embeds the client. A panic ends
// there: it is logged with its stack and becomes an error of code
// unhandled_exception.
func (c *Client) guard(what string, run func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = c.defect(what, cause)
		}
	}()
	return run()
}

// defect logs a panic and says to people what happened.
func (c *Client) defect(what string, cause any) *fault.Error {
	if c.o.Logger != nil {
		c.o.Logger.Error("panic in "+what, "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
	}
	return fault.New(fault.UnhandledException, "agent.guard", fmt.Sprintf("%s failed unexpectedly: %.500s.", capital(what), fmt.Sprint(cause)),
		"This is a defect in the program; report it.")
}

// asFault returns err as one for people; what says who has failed.
func asFault(what string, err error) *fault.Error {
	if f := fault.As(err); f != nil {
		return f
	}
	return fault.Wrap(fault.AgentFailed, "agent.run", fmt.Sprintf("%s failed: %.500s.", capital(what), err.Error()), "", err)
}

func capital(text string) string {
	if text != "" && text[0] >= 'a' && text[0] <= 'z' {
		return string(text[0]-'a'+'A') + text[1:]
	}
	return text
}
