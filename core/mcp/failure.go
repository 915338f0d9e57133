package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// Why a request to a server ended.
var (
	errLate = errors.New("mcp: the time of the request is over")
	errLost = errors.New("mcp: the connection has ended")
)

// protect runs what a Dialer, a session or an embedder brings. A panic becomes a
// *tools.Defect, without secrets.
func (s *server) protect(step string, run func() error) error {
	err := tools.Protect("", step, run)
	if d := new(tools.Defect); errors.As(err, &d) {
		c := *d
		c.Tool, c.Cause = "MCP server "+s.Name, s.mask.Hide(escape.ClipBytes(fmt.Sprint(d.Cause), 500))
		return &c
	}
	return err
}

// unavailable says that the server cannot be used. why is a clause.
func (s *server) unavailable(why, remedy string, stderr []string, cause error) *fault.Error {
	message := fmt.Sprintf("The MCP server %s is not available: %s.", quoted(s.Name), strings.TrimSuffix(why, "."))
	return fault.Wrap(fault.MCPServerUnavailable, "mcp.connect", message+lastWords(stderr), remedy, s.mask.cause(cause))
}

// maxLastWords is how many bytes of stderr a message quotes.
const maxLastWords = 400

// lastWords quotes the last lines of stderr, as a sentence after others.
func lastWords(stderr []string) string {
	text := strings.TrimSpace(strings.Join(stderr, "\n"))
	if text == "" {
		return ""
	}
	if len(text) > maxLastWords {
		text = "…" + escape.Tail(text, maxLastWords)
	}
	return " The last that it wrote to stderr: " + escape.Quote(text) + "."
}

// checkServer is the next step where nobody knows why a server failed.
const checkServer = "Check that the server runs and is configured as it should be."

// maxMessage is how many bytes a message may have that a Dialer has written.
const maxMessage = 2000

// tidy returns a Dialer's fault without secrets, on one line and not too long,
// however it quotes the server.
func (s *server) tidy(f *fault.Error) *fault.Error {
	c := s.mask.fault(f)
	c.Message, c.Short, c.Remedy = escape.Plain(c.Message, maxMessage), escape.Plain(c.Short, maxMessage), escape.Plain(c.Remedy, maxMessage)
	return c
}

// words quotes what somebody else wrote, on one line and short.
func (s *server) words(text string) string {
	return escape.Quote(escape.Plain(s.mask.Hide(text), maxLastWords))
}

// failed is why an attempt to connect failed, for the status: a *fault.Error
// without secrets.
func (s *server) failed(err error, stderr []string) *fault.Error {
	if f := fault.As(err); f != nil && f.Code != fault.Cancelled {
		return s.tidy(f)
	}
	switch d := new(tools.Defect); {
	case errors.As(err, &d):
		return s.unavailable("what connects to it failed unexpectedly: "+s.words(fmt.Sprint(d.Cause)), "This is a defect; report it.", stderr, err)
	case errors.Is(err, errLate), errors.Is(err, context.DeadlineExceeded):
		return s.unavailable(fmt.Sprintf("it was not ready within %v", s.connectTimeout()),
			"Check that it starts; give it more time by its connection timeout if it needs that.", stderr, err).Because(fault.TotalLimit)
	case errors.Is(err, context.Canceled), fault.CodeOf(err) == fault.Cancelled:
		return s.stopped()
	}
	return s.unavailable("it failed with "+s.words(err.Error()), checkServer, stderr, err)
}

// lost is why a connection is no more.
func (s *server) lost(err error, stderr []string) *fault.Error {
	if f := fault.As(err); f != nil {
		return s.tidy(f)
	}
	why := "it has ended the connection"
	if err != nil {
		why = "the connection broke with " + s.words(err.Error())
	}
	return s.unavailable(why, checkServer, stderr, err)
}

// stopped says that nothing keeps the server connected.
func (s *server) stopped() *fault.Error {
	return fault.New(fault.NotInitialized, "mcp.connect",
		fmt.Sprintf("The MCP server %s is not connected: the session's servers are not started, or closed.", quoted(s.Name)), "Start a session.")
}

// interrupted says that the connection was ended on this side, or is made anew.
func (s *server) interrupted() *fault.Error {
	return s.unavailable("its connection was ended here", "Try again if it is to be connected.", nil, nil)
}

// absent is why a call finds no connection. Its code is mcp_server_unavailable,
// whatever the cause.
func (s *server) absent(st Status) *fault.Error {
	message, remedy := fmt.Sprintf("The MCP server %s is not connected", quoted(s.Name)), ""
	switch f := fault.As(st.Error); {
	case st.State == StateDisabled:
		message, remedy = message+": it is disabled.", "Do without it, or ask the user to enable it."
	case f != nil:
		if message, remedy = message+". "+f.Message, f.Remedy; strings.Contains(f.Message, s.Name) {
			message = f.Message
		}
		if !strings.Contains(f.Message, "stderr") {
			message += lastWords(st.Stderr)
		}
	case st.Error != nil:
		message += ": " + s.words(st.Error.Error()) + "." + lastWords(st.Stderr)
	case st.State == StateConnecting:
		message += " yet." + lastWords(st.Stderr)
	default:
		message += "."
	}
	if in := time.Until(st.Next).Round(time.Second); !st.Next.IsZero() || st.State == StateConnecting {
		again := "It is being tried again; call the tool later, or do without it."
		if in > 0 {
			again = fmt.Sprintf("It is tried again in %v; call the tool after that, or do without it.", in)
		}
		remedy = strings.TrimSpace(remedy + " " + again)
	}
	return fault.Wrap(fault.MCPServerUnavailable, "mcp.call", message, remedy, s.mask.cause(st.Error))
}

// explain says why a request failed: a *fault.Error without secrets, or a
// *tools.Defect. what names in a clause what was asked for, as "its tool x".
func (s *server) explain(ctx context.Context, what string, l *link, err error) error {
	switch f := fault.As(err); {
	case ctx.Err() != nil:
		return cancelled(ctx)
	case errors.Is(err, errLate):
		return fault.Wrap(fault.MCPToolError, "mcp.call",
			fmt.Sprintf("The MCP server %s did not answer for %s within %v. Whether it has done anything is not known.", quoted(s.Name), what, s.timeout()),
			"Look at what it has done before you try again, and ask it for less at once.", err).Because(fault.TotalLimit)
	case errors.Is(err, errLost):
		message := fmt.Sprintf("The connection to the MCP server %s was lost while it was asked for %s. Whether it has done anything is not known.", quoted(s.Name), what)
		return fault.Wrap(fault.MCPServerUnavailable, "mcp.call", message+lastWords(s.stderr(l.session)),
			"Look at what it has done before you try again. The connection is made anew by itself.", s.mask.cause(err))
	case f != nil:
		return s.tidy(f)
	case errors.As(err, new(*tools.Defect)):
		return err
	case errors.Is(err, ErrNotRun):
		return s.unavailable("its connection ended before it could be asked for "+what, "Try again. The connection is made anew by itself.", nil, err)
	}
	return fault.Wrap(fault.MCPToolError, "mcp.call",
		fmt.Sprintf("The MCP server %s failed when it was asked for %s: %s.", quoted(s.Name), what, s.words(err.Error())),
		"Ask in another way, or do without.", s.mask.cause(err))
}

// forModel is err as a *fault.Error: of a defect what a model may see.
func forModel(err error) error {
	if d := new(tools.Defect); errors.As(err, &d) {
		return d.Fault()
	}
	return err
}

// cancelled says that somebody did not wait.
func cancelled(ctx context.Context) *fault.Error {
	return fault.Wrap(fault.Cancelled, "mcp.wait", "Nobody waits for the MCP server any more.", "", context.Cause(ctx))
}

// quoted quotes a name, cut to a length that fits a message.
func quoted(s string) string { return escape.Quote(escape.ClipBytes(s, 100)) }
