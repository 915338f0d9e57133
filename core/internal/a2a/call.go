package a2a

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/a2a"

	"github.com/fettle-dev/fettle/core/fault"
)

var errTimeout = errors.New("a2a: the call timed out")

// ask sends a message to the agent and waits for its answer. news receives the progress messages of
// the agent. An error of the caller's ctx is returned unchanged.
func (r *party) ask(ctx context.Context, text string, news func(string)) (*answer, *credentials, error) {
	back, err := r.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer back()
	limited, cancel := context.WithTimeoutCause(ctx, r.service.o.Timeout, errTimeout)
	defer cancel()
	c, err := r.connect(limited)
	if err != nil {
		return nil, nil, r.inTime(ctx, err)
	}
	a, err := c.converse(limited, text, func(s string) { news(c.auth.redacted(s)) })
	return a, c.auth, r.inTime(ctx, err)
}

// inTime converts a timeout of the call to a fault.
func (r *remote) inTime(ctx context.Context, err error) error {
	if errors.Is(err, errTimeout) && ctx.Err() == nil {
		return r.fail(fmt.Sprintf("did not answer within %s", r.service.o.Timeout), "Ask for less, or try again later.", err)
	}
	return err
}

// connect returns a connection to the agent's endpoint, with its credentials.
func (r *party) connect(ctx context.Context) (*connection, error) {
	card, err := r.fetchCard(ctx)
	if err != nil {
		return nil, err
	}
	c := &connection{party: r}
	if r.d.Remote.CardURL == "" {
		c.at, err = card.endpoint(nil)
	} else {
		from, perr := parseURL(r.d.Remote.CardURL)
		if perr != nil {
			return nil, r.fail("has a card whose URL "+perr.Error(), "", nil)
		}
		c.at, err = card.endpoint(from)
	}
	if err != nil {
		return nil, r.fail("cannot be called: its card "+err.Error(), "If this is intended, put the card itself into the definition, as agent_card_json.", nil)
	}
	c.auth, err = r.resolve(ctx)
	return c, err
}

// converse sends the message and follows the resulting task.
func (c *connection) converse(ctx context.Context, text string, news func(string)) (*answer, error) {
	a, err := c.send(ctx, text, news)
	if isCode(err, codeNoTask) && c.thread.task != "" { // the server no longer has it
		c.thread.task = ""
		a, err = c.send(ctx, text, news)
	}
	if err == nil && !a.done {
		err = c.poll(ctx, a, news)
	}
	if a == nil {
		return nil, err
	}
	next := thread{context: a.contextID, task: a.taskID}
	if err != nil && ctx.Err() != nil && a.taskID != "" {
		c.cancelTask(ctx, a.taskID)
	}
	if err != nil || a.state == "" || a.state.Terminal() {
		next.task = ""
	}
	next.context = cmp.Or(next.context, c.thread.context)
	c.thread = next
	return a, err
}

func isCode(err error, code int) bool {
	var e *rpcError
	return errors.As(err, &e) && e.Code == code
}

// send sends the message, as a stream if the agent supports one. A stream that breaks after it has
// named its task is not an error: the task can be polled.
func (c *connection) send(ctx context.Context, text string, news func(string)) (*answer, error) {
	m := a2a.NewMessage(a2a.MessageRoleUser, partOf(text, c.thread.task != ""))
	m.ContextID, m.TaskID = c.thread.context, a2a.TaskID(c.thread.task)
	blocking := true
	params := &a2a.MessageSendParams{Message: m, Config: &a2a.MessageSendConfig{Blocking: &blocking, AcceptedOutputModes: []string{"text/plain", "application/json"}}}
	if card := c.known(); card != nil && card.Capabilities.Streaming {
		a, err := c.stream(ctx, params, news)
		if !isCode(err, codeUnsupported) && !isCode(err, codeNoMethod) {
			return a, err
		}
	}
	raw, err := c.call(ctx, "message/send", params)
	if err != nil {
		return nil, err
	}
	return c.first(raw, news)
}

// partOf returns the text as a part of a message. The answer to a task that waits for input is data if it is one JSON
// object, because some servers accept decisions only in that form.
func partOf(text string, waits bool) a2a.Part {
	var data map[string]any
	if waits && strings.HasPrefix(strings.TrimSpace(text), "{") && json.Unmarshal([]byte(text), &data) == nil {
		return a2a.DataPart{Data: data}
	}
	return a2a.TextPart{Text: text}
}

// first returns the answer whose first event is raw. An invalid event is an error.
func (c *connection) first(raw json.RawMessage, news func(string)) (*answer, error) {
	a := new(answer)
	text, ok := a.take(raw)
	if !ok {
		return nil, c.fail("gave an answer that is not valid in the protocol", "Check that its endpoint speaks A2A 0.3.", nil)
	}
	news(text)
	return a, nil
}

// stream sends the message and reads events until the answer is complete.
func (c *connection) stream(ctx context.Context, params *a2a.MessageSendParams, news func(string)) (*answer, error) {
	resp, err := c.post(ctx, "message/stream", params, "text/event-stream")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if !streams(resp) {
		raw, err := c.single(ctx, resp)
		if err != nil {
			return nil, err
		}
		return c.first(raw, news)
	}
	a := new(answer)
	var failed error
	readErr := events(resp.Body, maxAnswer, func(data []byte) bool {
		raw, err := c.result(data)
		if err != nil {
			if isRPC(err) {
				failed = err
				return false
			}
			return true // an invalid or truncated event is ignored
		}
		text, ok := a.take(raw)
		if !ok {
			c.service.o.Logger.Debug("an event of a remote agent cannot be read", "agent", c.d.Name)
			return true
		}
		news(text)
		return !a.done
	})
	switch {
	case a.done:
		if a.waits() {
			c.finish(resp.Body)
		}
		return a, nil
	case ctx.Err() != nil:
		return a, context.Cause(ctx)
	case failed != nil:
		return nil, failed
	case a.taskID != "":
		return a, nil
	case errors.Is(readErr, errLongEvent):
		return nil, c.fail(fmt.Sprintf("sent an event of more than %d MiB, which was not read", maxAnswer>>20), "", nil)
	}
	return nil, c.fail("broke off before it had answered", "Ask again.", readErr)
}

// finishTimeout is the time that a server has to end a stream after a complete answer.
const finishTimeout = 2 * time.Second

// finish reads a stream to its end. A server may refuse the task's next message while it still
// processes a request; the end of the stream shows that it does not.
func (c *connection) finish(stream io.ReadCloser) {
	late := time.AfterFunc(finishTimeout, func() { stream.Close() })
	defer late.Stop()
	if _, err := io.Copy(io.Discard, io.LimitReader(stream, maxAnswer)); err != nil {
		c.service.o.Logger.Debug("the stream of a remote agent did not end after its answer", "agent", c.d.Name)
	}
}

func isRPC(err error) bool { return errors.As(err, new(*rpcError)) }

// How often a task is polled.
const (
	longestPoll   = 10 * time.Second
	pollsThatFail = 3 // consecutive failures
)

// poll polls the task until no further event is expected.
func (c *connection) poll(ctx context.Context, a *answer, news func(string)) error {
	if a.taskID == "" {
		return c.fail("broke off before it had answered", "Ask again.", nil)
	}
	wait, failures := c.service.o.Poll, 0
	for !a.done {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
		}
		wait = min(wait+wait/2, max(longestPoll, c.service.o.Poll))
		raw, err := c.call(ctx, "tasks/get", &a2a.TaskQueryParams{ID: a2a.TaskID(a.taskID)})
		if err == nil {
			before := a.statusText
			now, ok := a.take(raw)
			if ok && now != before {
				news(now)
			}
			if ok {
				failures = 0
				continue
			}
			err = c.fail("gave a task that is not valid in the protocol", "", nil)
		}
		if failures++; ctx.Err() != nil || isRPC(err) || failures == pollsThatFail {
			return err
		}
	}
	return nil
}

// cancelTimeout is the time limit for the request that cancels a task.
const cancelTimeout = 5 * time.Second

// cancelTask asks the server to cancel the task. Errors are only logged.
func (c *connection) cancelTask(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	if _, err := c.call(ctx, "tasks/cancel", &a2a.TaskIDParams{ID: a2a.TaskID(id)}); err != nil {
		c.service.o.Logger.Debug("a task of a remote agent was not cancelled", "agent", c.d.Name, "code", fault.CodeOf(err))
	}
}
