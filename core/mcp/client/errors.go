package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/fettle-dev/fettle/core/fault"
)

// codeTooLarge is the JSON-RPC code of the answer that is given in place of one
// that is larger than the limit.
const codeTooLarge = -32091

// Causes of ended contexts.
var (
	errSlow   = errors.New("it took too long")
	errClosed = errors.New("the session was closed")
)

// unavailable is that a server cannot be reached, or was lost: what happened, in
// sentences, and the last lines of its stderr.
func unavailable(server string, m *mask, what, remedy string, stderr []string, cause error) *fault.Error {
	return fault.Wrap(fault.MCPServerUnavailable, "mcp.connect",
		m.text(strings.TrimSpace("The MCP server "+quoted(server)+" is not available. "+what)+lastOf(stderr)), remedy, quiet(cause, m))
}

// lastOf returns a sentence with the last lines of a server's stderr.
func lastOf(stderr []string) string {
	if len(stderr) == 0 {
		return ""
	}
	const shown = 10
	return " The last of its stderr: " + strings.Join(stderr[max(0, len(stderr)-shown):], "\n")
}

// masked is a cause whose text holds no secret.
type masked struct {
	text  string
	cause error
}

func (e *masked) Error() string { return e.text }

// Is passes the question for what is no text on.
func (e *masked) Is(target error) bool { return errors.Is(e.cause, target) }

func quiet(err error, m *mask) error {
	if err == nil {
		return nil
	}
	return &masked{clip(m.text(err.Error()), 500), err}
}

// explain makes an error of the SDK's, or of an ended ctx, one for people. what
// is what was asked for, as a clause.
func (s *session) explain(ctx context.Context, what string, err error) error {
	if f := fault.As(err); f != nil {
		return f
	}
	if lost := s.lostBy(); lost != nil {
		return lost
	}
	server := "The MCP server " + quoted(s.name)
	answer, refused := answerOf(err)
	cause := context.Cause(ctx)
	switch {
	case refused && answer.Code == codeTooLarge:
		return fault.Wrap(fault.MCPToolError, "mcp.call", server+" answered with more than the limit of "+strconv.Itoa(s.d.o.MaxMessage)+" bytes.", "Ask it for less at once.", quiet(err, s.mask))
	case errors.Is(cause, errClosed) || s.isClosed():
		return fault.Wrap(fault.MCPServerUnavailable, "mcp.call", "The connection with "+strings.ToLower(server[:1])+server[1:]+" was closed.", "Connect to it again.", quiet(err, s.mask))
	case errors.Is(cause, errSlow) || errors.Is(cause, context.DeadlineExceeded):
		return fault.Wrap(fault.MCPServerUnavailable, "mcp.call", server+" did not answer in time ("+what+").", "Try again, or give it a larger timeout in its settings.", quiet(cause, s.mask))
	case cause != nil:
		return fault.Wrap(fault.Cancelled, "mcp.call", "The request to "+strings.ToLower(server[:1])+server[1:]+" was cancelled.", "", quiet(cause, s.mask))
	case refused:
		return s.answered(what, answer, err)
	}
	if w, ok := s.peer.(interface{ signIn() bool }); ok && w.signIn() {
		return fault.Wrap(fault.MCPSignInRequired, "mcp.call", server+" wants to know who asks.",
			"Sign in to it, or give it a header with a token in its settings.", quiet(err, s.mask))
	}
	reason, remedy := s.peer.why(err)
	if reason == "" {
		reason = "It failed (" + what + "): " + clip(err.Error(), 300) + "."
	}
	return unavailable(s.name, s.mask, reason, remedy, s.peer.lastLines(), err)
}

// answerOf returns the error that a server has answered with; not ok for others,
// among them that of the SDK for what was not sent.
func answerOf(err error) (answer *jsonrpc.Error, ok bool) {
	const notSent = -32005
	return answer, errors.As(err, &answer) && (answer.Code != notSent || answer.Message != "rejected by transport")
}

// answered is that the server answered a request with an error.
func (s *session) answered(what string, answer *jsonrpc.Error, err error) error {
	code, remedy := fault.MCPToolError, "Look at what it says; correct the request or go on without it."
	const notFound = -32002 // until 2025-11-25; then it is an invalid parameter
	if what == methodRead && (answer.Code == notFound || answer.Code == jsonrpc.CodeInvalidParams) {
		code, remedy = fault.MCPResourceNotFound, "List its resources, and ask for one of these."
	}
	message := fmt.Sprintf("The MCP server %s refused %s: %s", quoted(s.name), what, clip(strings.TrimSpace(answer.Message), 4000))
	if strings.TrimSpace(answer.Message) == "" {
		message = fmt.Sprintf("The MCP server %s refused %s with the code %d.", quoted(s.name), what, answer.Code)
	}
	return fault.Wrap(code, "mcp.call", s.mask.text(message), remedy, quiet(err, s.mask))
}

// quoted returns text from outside as messages have it.
func quoted(s string) string { return strconv.Quote(clip(s, 300)) }

func statusText(status int) string {
	return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
}
