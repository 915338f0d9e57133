package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/tools"
)

// codeTooLarge is the JSON-RPC code of the answer that replaces one larger than
// the limit.
const codeTooLarge = -32091

// Causes of ended contexts.
var (
	errSlow   = errors.New("it took too long")
	errClosed = errors.New("the session was closed")
)

// unavailable returns the error for a server that cannot be reached or was lost.
// what consists of sentences that quote any text from outside; the end of stderr
// is appended.
func unavailable(server string, v *mcp.Mask, what, remedy string, stderr []string, cause error) *fault.Error {
	return fault.Wrap(fault.MCPServerUnavailable, "mcp.connect",
		v.Hide(strings.TrimSpace("The MCP server "+quoted(server)+" is not available. "+what)+lastOf(v, stderr)), remedy, quiet(cause, v))
}

// lastOf returns a sentence with the end of a server's stderr.
func lastOf(v *mcp.Mask, stderr []string) string {
	text := v.Hide(strings.TrimSpace(strings.Join(stderr, "\n")))
	if text == "" {
		return ""
	}
	if len(text) > maxWords {
		text = "…" + escape.Tail(text, maxWords)
	}
	return " End of its stderr: " + tools.Quote(text, len(text)) + "."
}

// maxWords is the maximum number of bytes of a server's text in an error.
const maxWords = 300

// words formats text of a server, or an error that may repeat it, for a message:
// quoted, on one line, short, and with secrets masked.
func words(v *mcp.Mask, s string) string { return tools.Quote(v.Hide(s), maxWords) }

// quoted quotes a name or another short text from outside for a message.
func quoted(s string) string { return tools.Quote(s, maxWords) }

// masked is a cause whose text contains no secret.
type masked struct {
	text  string
	cause error
}

func (e *masked) Error() string { return e.text }

// Is reports whether the cause matches target.
func (e *masked) Is(target error) bool { return errors.Is(e.cause, target) }

func quiet(err error, v *mcp.Mask) error {
	if err == nil {
		return nil
	}
	return &masked{escape.ClipBytes(escape.OneLine(v.Hide(err.Error())), 500), err}
}

// explain converts an error of the SDK, or of an ended ctx, into a *fault.Error.
// what is a clause that names the request.
func (s *session) explain(ctx context.Context, what string, err error) error {
	if f := fault.As(err); f != nil {
		return f
	}
	cause := context.Cause(ctx) // before lostBy, which is set before a loss ends ctx
	if lost := s.lostBy(); lost != nil {
		return lost
	}
	server := "The MCP server " + quoted(s.name)
	answer, refused := answerOf(err)
	switch {
	case refused && answer.Code == codeTooLarge:
		return fault.Wrap(fault.MCPToolError, "mcp.call", server+" answered with more than the limit of "+strconv.Itoa(s.d.o.MaxMessage)+" bytes.", "Request less at once.", quiet(err, s.mask))
	case errors.Is(cause, errClosed) || s.isClosed():
		return fault.Wrap(fault.MCPServerUnavailable, "mcp.call", "The connection with "+strings.ToLower(server[:1])+server[1:]+" was closed.", "Connect to it again.", quiet(err, s.mask))
	case errors.Is(cause, errSlow) || errors.Is(cause, context.DeadlineExceeded):
		return fault.Wrap(fault.MCPServerUnavailable, "mcp.call", server+" did not answer in time ("+what+").", "Try again, or set a longer timeout in its settings.", quiet(cause, s.mask))
	case cause != nil:
		return fault.Wrap(fault.Cancelled, "mcp.call", "The request to "+strings.ToLower(server[:1])+server[1:]+" was cancelled.", "", quiet(cause, s.mask))
	case refused:
		return s.answered(what, answer, err)
	}
	if w, ok := s.peer.(interface{ signIn() bool }); ok && w.signIn() {
		return fault.Wrap(fault.MCPSignInRequired, "mcp.call", server+" requires authentication.",
			"Sign in, or set a header with a token in its settings.", quiet(err, s.mask))
	}
	reason, remedy := s.peer.why(err)
	if reason == "" {
		reason = "It failed (" + what + "): " + words(s.mask, err.Error()) + "."
	}
	return unavailable(s.name, s.mask, reason, remedy, s.peer.lastLines(), err)
}

// answerOf returns the error with which a server answered. It returns ok == false
// for other errors, including the SDK's error for a request that was not sent.
func answerOf(err error) (answer *jsonrpc.Error, ok bool) {
	const notSent = -32005
	return answer, errors.As(err, &answer) && (answer.Code != notSent || answer.Message != "rejected by transport")
}

// answered returns the error for a request that the server answered with an
// error.
func (s *session) answered(what string, answer *jsonrpc.Error, err error) error {
	code, remedy := fault.MCPToolError, "Read its message; correct the request or continue without it."
	const notFound = -32002 // until 2025-11-25; an invalid parameter since then
	if what == methodRead && (answer.Code == notFound || answer.Code == jsonrpc.CodeInvalidParams) {
		code, remedy = fault.MCPResourceNotFound, "List its resources, and request one of these."
	}
	message := fmt.Sprintf("The MCP server %s refused %s: %s.", quoted(s.name), what, words(s.mask, answer.Message))
	if strings.TrimSpace(answer.Message) == "" {
		message = fmt.Sprintf("The MCP server %s refused %s with the code %d.", quoted(s.name), what, answer.Code)
	}
	return fault.Wrap(code, "mcp.call", message, remedy, quiet(err, s.mask))
}

func statusText(status int) string {
	return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
}
