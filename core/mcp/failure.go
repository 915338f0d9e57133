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

// Causes of ended requests.
var (
	errLate = errors.New("mcp: the time of the request is over")
	errLost = errors.New("mcp: the connection has ended")
)

// protect runs code of a Dialer, a session or an embedder. A panic becomes a
// *tools.Defect with secrets masked.
func (s *server) protect(step string, run func() error) error {
	err := tools.Protect("", step, run)
	if d := new(tools.Defect); errors.As(err, &d) {
		c := *d
		c.Tool, c.Cause = "MCP server "+s.Name, s.mask.Hide(escape.ClipBytes(fmt.Sprint(d.Cause), 500))
		return &c
	}
	return err
}

// unavailable returns the error for a server that cannot be used. why is a
// clause.
func (s *server) unavailable(why, remedy string, stderr []string, cause error) *fault.Error {
	message := fmt.Sprintf("The MCP server %s is not available: %s.", quoted(s.Name), strings.TrimSuffix(why, "."))
	return fault.Wrap(fault.MCPServerUnavailable, "mcp.connect", message+lastWords(stderr), remedy, s.mask.cause(cause))
}

// maxLastWords is the maximum number of bytes of stderr that a message quotes.
const maxLastWords = 400

// lastWords returns a sentence that quotes the last lines of stderr.
func lastWords(stderr []string) string {
	text := strings.TrimSpace(strings.Join(stderr, "\n"))
	if text == "" {
		return ""
	}
	if len(text) > maxLastWords {
		text = "…" + escape.Tail(text, maxLastWords)
	}
	return " Its last output on stderr: " + escape.Quote(text) + "."
}

// checkServer is the remedy for a failure of unknown cause.
const checkServer = "Check that the server runs and is configured correctly."

// maxMessage is the maximum number of bytes of a message written by a Dialer.
const maxMessage = 2000

// sanitize returns a Dialer's fault with secrets masked, on one line and of bounded
// length, however it quotes the server.
func (s *server) sanitize(f *fault.Error) *fault.Error {
	c := s.mask.fault(f)
	c.Message, c.Short, c.Remedy = escape.Plain(c.Message, maxMessage), escape.Plain(c.Short, maxMessage), escape.Plain(c.Remedy, maxMessage)
	return c
}

// quote quotes text from outside on one line of bounded length.
func (s *server) quote(text string) string {
	return escape.Quote(escape.Plain(s.mask.Hide(text), maxLastWords))
}

// connectError returns the reason of a failed connection attempt for the status: a
// *fault.Error with secrets masked.
func (s *server) connectError(err error, stderr []string) *fault.Error {
	if f := fault.As(err); f != nil && f.Code != fault.Cancelled {
		return s.sanitize(f)
	}
	switch d := new(tools.Defect); {
	case errors.As(err, &d):
		return s.unavailable("the client failed unexpectedly: "+s.quote(fmt.Sprint(d.Cause)), "This is a defect; report it.", stderr, err)
	case errors.Is(err, errLate), errors.Is(err, context.DeadlineExceeded):
		return s.unavailable(fmt.Sprintf("it was not ready within %v", s.connectTimeout()),
			"Check that it starts, or set a longer connection timeout.", stderr, err).Because(fault.TotalLimit)
	case errors.Is(err, context.Canceled), fault.CodeOf(err) == fault.Cancelled:
		return s.notMaintained()
	}
	return s.unavailable("it failed with "+s.quote(err.Error()), checkServer, stderr, err)
}

// connectionLost returns the reason why a connection ended.
func (s *server) connectionLost(err error, stderr []string) *fault.Error {
	if f := fault.As(err); f != nil {
		return s.sanitize(f)
	}
	why := "it has ended the connection"
	if err != nil {
		why = "the connection broke with " + s.quote(err.Error())
	}
	return s.unavailable(why, checkServer, stderr, err)
}

// notMaintained returns the error for a server whose connection is not being
// maintained.
func (s *server) notMaintained() *fault.Error {
	return fault.New(fault.NotInitialized, "mcp.connect",
		fmt.Sprintf("The MCP server %s is not connected: the servers of the session are not started, or closed.", quoted(s.Name)), "Start a session.")
}

// interrupted returns the error for a connection that was closed or restarted on
// this side.
func (s *server) interrupted() *fault.Error {
	return s.unavailable("its connection was ended here", "Try again to connect it.", nil, nil)
}

// notConnected returns the error of a call without a connection. Its code is
// mcp_server_unavailable for every cause.
func (s *server) notConnected(st Status) *fault.Error {
	message, remedy := fmt.Sprintf("The MCP server %s is not connected", quoted(s.Name)), ""
	switch f := fault.As(st.Error); {
	case st.State == StateDisabled:
		message, remedy = message+": it is disabled.", "Continue without it, or ask the user to enable it."
	case f != nil:
		if message, remedy = message+". "+f.Message, f.Remedy; strings.Contains(f.Message, s.Name) {
			message = f.Message
		}
		if !strings.Contains(f.Message, "stderr") {
			message += lastWords(st.Stderr)
		}
	case st.Error != nil:
		message += ": " + s.quote(st.Error.Error()) + "." + lastWords(st.Stderr)
	case st.State == StateConnecting:
		message += " yet." + lastWords(st.Stderr)
	default:
		message += "."
	}
	if in := time.Until(st.Next).Round(time.Second); !st.Next.IsZero() || st.State == StateConnecting {
		again := "It is being reconnected; call the tool later, or continue without it."
		if in > 0 {
			again = fmt.Sprintf("It is reconnected in %v; call the tool after that, or continue without it.", in)
		}
		remedy = strings.TrimSpace(remedy + " " + again)
	}
	return fault.Wrap(fault.MCPServerUnavailable, "mcp.call", message, remedy, s.mask.cause(st.Error))
}

// requestError converts the error of a request into a *fault.Error with secrets
// masked, or a *tools.Defect. what is a clause that names the request, for
// example "its tool x".
func (s *server) requestError(ctx context.Context, what string, l *link, err error) error {
	switch f := fault.As(err); {
	case ctx.Err() != nil:
		return cancelled(ctx)
	case errors.Is(err, errLate):
		return fault.Wrap(fault.MCPToolError, "mcp.call",
			fmt.Sprintf("The MCP server %s did not answer for %s within %v. Whether the request took effect is unknown.", quoted(s.Name), what, s.timeout()),
			"Check its effects before you try again, and request less at once.", err).Because(fault.TotalLimit)
	case errors.Is(err, errLost):
		message := fmt.Sprintf("The connection to the MCP server %s was lost during a request for %s. Whether the request took effect is unknown.", quoted(s.Name), what)
		return fault.Wrap(fault.MCPServerUnavailable, "mcp.call", message+lastWords(s.stderr(l.session)),
			"Check its effects before you try again. The connection is restored automatically.", s.mask.cause(err))
	case f != nil:
		return s.sanitize(f)
	case errors.As(err, new(*tools.Defect)):
		return err
	case errors.Is(err, ErrNotRun):
		return s.unavailable("its connection ended before the request for "+what, "Try again. The connection is restored automatically.", nil, err)
	}
	return fault.Wrap(fault.MCPToolError, "mcp.call",
		fmt.Sprintf("The MCP server %s failed on a request for %s: %s.", quoted(s.Name), what, s.quote(err.Error())),
		"Change the request, or continue without it.", s.mask.cause(err))
}

// forModel returns err as a *fault.Error. For a defect it contains only the part
// that the model may see.
func forModel(err error) error {
	if d := new(tools.Defect); errors.As(err, &d) {
		return d.Fault()
	}
	return err
}

// cancelled returns the error of a request whose caller stopped waiting.
func cancelled(ctx context.Context) *fault.Error {
	return fault.Wrap(fault.Cancelled, "mcp.wait", "The request to the MCP server was cancelled.", "", context.Cause(ctx))
}

// quoted quotes a name, shortened to fit into a message.
func quoted(s string) string { return escape.Quote(escape.ClipBytes(s, 100)) }
