package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// The reasons of an error of code limit_reached.
const (
	PromptTurnsReached  fault.Reason = "prompt_turns"  // requests to the model for one prompt
	SessionTurnsReached fault.Reason = "session_turns" // requests to the model of the whole session
	TimeReached         fault.Reason = "time"          // the time of the prompt
	TokensReached       fault.Reason = "tokens"        // the conversation is longer than the model takes
)

const (
	defaultPromptTurns = 100
	defaultCompactAt   = 0.5
)

// turnLimit returns the error of the limit that the next request would exceed,
// or nil. made is how many this prompt has made, where that is limited.
func (c *Client) turnLimit(made int) *fault.Error {
	limit := cmp.Or(c.o.Limits.PromptTurns, defaultPromptTurns)
	if limit > 0 && made >= limit {
		return fault.New(fault.LimitReached, "agent.run",
			fmt.Sprintf("The prompt was ended after %d requests to the model, which is the limit for one prompt.", limit),
			"Say how to go on, or raise the limit of turns.").Because(PromptTurnsReached)
	}
	if limit := c.o.Limits.SessionTurns; limit > 0 && c.requests >= limit {
		return fault.New(fault.LimitReached, "agent.run",
			fmt.Sprintf("The session has made %d requests to the model, which is its limit.", limit),
			"Begin a new session, or raise the limit of turns.").Because(SessionTurnsReached)
	}
	return nil
}

func timeReached(limit time.Duration) *fault.Error {
	return fault.New(fault.LimitReached, "agent.run",
		fmt.Sprintf("The prompt was ended after %s, which is the limit for one prompt.", limit),
		"Say how to go on, or raise the limit of time.").Because(TimeReached)
}

func tokensReached(tokens, limit int, cause error) *fault.Error {
	message := fmt.Sprintf("The request would have about %d tokens, and the model takes %d.", tokens, limit)
	if tokens <= limit {
		message = "The conversation is longer than the model takes."
		if failure := new(model.Error); errors.As(cause, &failure) {
			message += " " + failure.Fault().Message
		}
	}
	return fault.Wrap(fault.LimitReached, "agent.run", message,
		"Compact the conversation, as /compress does in a session, or begin a new one.", cause).Because(TokensReached)
}

// tokenLimit returns how long a request to the named model may be; g is its
// Generator, or nil.
func (c *Client) tokenLimit(g model.Generator, name string) int {
	if c.o.Limits.Tokens > 0 {
		return c.o.Limits.Tokens
	}
	if limit := model.LimitOf(g); limit > 0 {
		return limit
	}
	return model.TokenLimit(bareName(name))
}

// stopwatch calls a function once time is up. It stands while a person is
// asked. It goes by the clock of the machine.
type stopwatch struct {
	mu    sync.Mutex
	timer *time.Timer
	left  time.Duration // when it last began to run
	since time.Time     // when that was
	open  map[string]string
}

// watch starts a stopwatch over a limit, and returns it with a function that
// ends it and waits for what it has started. With no limit there is nothing to
// end. ctx is given to the subscription alone.
func watch(ctx context.Context, limit time.Duration, b *bus.MessageBus, up func()) (*stopwatch, func()) {
	if limit <= 0 {
		return nil, func() {}
	}
	w := &stopwatch{left: limit, since: time.Now(), open: make(map[string]string)}
	w.timer = time.AfterFunc(limit, up)
	if b == nil {
		return w, func() { w.timer.Stop() }
	}
	subscription := bus.Observe(ctx, b, w.see)
	return w, func() {
		subscription.Unsubscribe()
		<-subscription.Done()
		w.timer.Stop()
	}
}

// see takes a message of the bus. A question is open until it is answered, or
// its call is no longer where it waits for the answer.
func (w *stopwatch) see(_ context.Context, m bus.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := len(w.open)
	switch m := m.(type) {
	case bus.ToolConfirmationRequest:
		w.open[m.CorrelationID] = m.CallID
	case bus.AskUserRequest:
		w.open[m.CorrelationID] = ""
	case bus.ToolConfirmationResponse:
		delete(w.open, m.CorrelationID)
	case bus.AskUserResponse:
		delete(w.open, m.CorrelationID)
	case bus.ToolCallsUpdate:
		w.seeCalls(m.ToolCalls)
	}
	w.turn(was)
}

// seeCalls closes the questions of calls that go on without an answer.
func (w *stopwatch) seeCalls(calls []bus.ToolCallState) {
	for id, callID := range w.open {
		for _, call := range calls {
			if callID != "" && call.CallID == callID && call.CorrelationID != id {
				delete(w.open, id)
			}
		}
	}
}

// reset closes all questions: those of calls that have ended.
func (w *stopwatch) reset() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	was := len(w.open)
	clear(w.open)
	w.turn(was)
}

// turn stops or starts the clock if the first question has been opened, or the
// last one closed. w.mu is held.
func (w *stopwatch) turn(was int) {
	switch is := len(w.open); {
	case was == 0 && is > 0:
		if w.timer.Stop() {
			w.left -= time.Since(w.since)
		}
	case was > 0 && is == 0:
		w.since = time.Now()
		w.timer.Reset(max(w.left, 0))
	}
}
