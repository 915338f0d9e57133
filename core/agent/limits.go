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

// The reasons of an error with code limit_reached.
const (
	promptTurnsReached  fault.Reason = "prompt_turns"  // requests to the model for one prompt
	sessionTurnsReached fault.Reason = "session_turns" // requests to the model of the whole session
	timeReason          fault.Reason = "time"          // the duration of the prompt
	tokensReason        fault.Reason = "tokens"        // the conversation exceeds the model's limit
)

const (
	defaultPromptTurns = 100
	defaultCompactAt   = 0.5
)

// turnLimit returns the error of the limit that the next request would exceed, or nil. made is the number of requests of
// this prompt, if limited.
func (c *Client) turnLimit(made int) *fault.Error {
	limit := cmp.Or(c.o.Limits.PromptTurns, defaultPromptTurns)
	if limit > 0 && made >= limit {
		return fault.New(fault.LimitReached, "agent.run",
			fmt.Sprintf("The prompt ended after %d requests to the model, the limit for one prompt.", limit),
			"Send a new prompt to continue, or raise the limit of turns.").Because(promptTurnsReached)
	}
	if limit := c.o.Limits.SessionTurns; limit > 0 && c.requests >= limit {
		return fault.New(fault.LimitReached, "agent.run",
			fmt.Sprintf("The session has made %d requests to the model, which is its limit.", limit),
			"Start a new session, or raise the limit of turns.").Because(sessionTurnsReached)
	}
	return nil
}

func timeReached(limit time.Duration) *fault.Error {
	return fault.New(fault.LimitReached, "agent.run",
		fmt.Sprintf("The prompt ended after %s, the limit for one prompt.", limit),
		"Send a new prompt to continue, or raise the time limit.").Because(timeReason)
}

func tokensReached(tokens, limit int, cause error) *fault.Error {
	message := fmt.Sprintf("The request would have about %d tokens; the model accepts %d.", tokens, limit)
	if tokens <= limit {
		message = "The conversation exceeds the model's limit."
		if failure := new(model.Error); errors.As(cause, &failure) {
			message += " " + failure.Fault().Message
		}
	}
	return fault.Wrap(fault.LimitReached, "agent.run", message,
		"Compact the conversation, for example with /compress, or start a new one.", cause).Because(tokensReason)
}

// tokenLimit returns the maximum length of a request to the named model; g is its Generator, or nil.
func (c *Client) tokenLimit(g model.Generator, name string) int {
	if c.o.Limits.Tokens > 0 {
		return c.o.Limits.Tokens
	}
	if limit := model.LimitOf(g); limit > 0 {
		return limit
	}
	return model.TokenLimit(bareName(name))
}

// stopwatch calls a function when time is up. It is paused during approval questions. It uses the system clock.
type stopwatch struct {
	mu    sync.Mutex
	timer *time.Timer
	left  time.Duration // at the last start
	since time.Time     // time of the last start
	open  map[string]string
}

// watch starts a stopwatch for a limit, and returns it with a function that ends it and waits for its goroutines.
// Without a limit it does nothing. ctx is only for the subscription.
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

// see handles a message of the bus. A question is open until it is answered, or until its call no longer awaits
// approval.
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

// seeCalls closes the questions of calls that continue without an answer.
func (w *stopwatch) seeCalls(calls []bus.ToolCallState) {
	for id, callID := range w.open {
		for _, call := range calls {
			if callID != "" && call.CallID == callID && call.CorrelationID != id {
				delete(w.open, id)
			}
		}
	}
}

// reset closes all questions, because their calls have ended.
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

// turn pauses the clock for the first open question, and resumes it after the last. w.mu is held.
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
