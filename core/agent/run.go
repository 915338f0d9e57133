package agent

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// Run processes a prompt: it sends a request, runs the calls of the answer, and sends their responses with the next
// request. It ends when the model answers without a tool call, on an error, or at a limit. The work starts when the
// caller ranges over the events. The type of the last event, and of no other, reports true for [EventType.Ends]. Leaving
// the loop early cancels the work; the history is then valid, with a response to each call.
//
// A prompt without an answer is removed from the history, so that it is not sent with the next one; executed calls stay
// in it with their responses. After EventStopped the prompt stays. Only texts and data of prompt are used.
func (c *Client) Run(ctx context.Context, prompt ...model.Part) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		c.converse(ctx, yield, prompt, func(ctx context.Context, p *prompting) Event {
			defer p.settle(ctx)
			return p.work(ctx, userParts(prompt))
		})
	}
}

// SendStream makes one request with parts as the user turn and ends with its answer; the caller runs its calls with
// ProcessTurn. A call that is unanswered at the next request is answered as cancelled, and a response without a call is
// dropped. Responses stay in the history even if the request fails. If parts is empty, an unanswered user turn is sent
// again. The last event is of type done for an answer without calls, and of type finished for one with calls, unless an
// event for which [EventType.Ends] reports true comes first. Only the steps of requests run. Limits.PromptTurns does not apply, and a model that
// repeats itself is stopped the first time.
func (c *Client) SendStream(ctx context.Context, parts ...model.Part) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		c.converse(ctx, yield, parts, func(ctx context.Context, p *prompting) Event {
			return p.send(ctx, parts)
		})
	}
}

// prompting is the work on one prompt.
type prompting struct {
	c         *Client
	generator model.Generator
	model     string // its name, if generator knows it
	limit     int    // maximum tokens of a request
	clock     *stopwatch

	yield    func(Event) bool
	yielding bool // yield runs: a panic is the caller's
	left     bool // the caller has left the loop
	finished bool // the work has completed
	cancel   context.CancelCauseFunc

	modelReported bool // the answering model was reported
	turns         int  // number of requests
	calls         int
	usage         model.Usage
	answers       []string // texts
	repeated      int      // number of detected repetitions
	loops         loopDetector
}

// The causes of the end of a prompt, other than the caller's ctx.
var (
	errLeft   = errors.New("the caller left the loop")
	errTimeUp = errors.New("the time for the prompt is up")
)

// converse acquires the conversation, runs work, and emits the returned event after releasing it. A zero Event is not
// emitted.
func (c *Client) converse(ctx context.Context, yield func(Event) bool, parts []model.Part, work func(context.Context, *prompting) Event) {
	p := &prompting{c: c, yield: yield}
	if last := p.hold(ctx, parts, work); last.Type != "" {
		p.emit(last)
	}
}

// hold acquires the conversation, runs work, and returns the last event, which is not yet emitted.
func (p *prompting) hold(ctx context.Context, parts []model.Part, work func(context.Context, *prompting) Event) (last Event) {
	if p.c.acquire(ctx) != nil {
		p.c.withdraw(parts)
		return Event{Type: EventCancelled}
	}
	defer p.c.release()
	ctx, p.cancel = context.WithCancelCause(ctx)
	defer p.cancel(nil)
	p.emitWarnings()
	var err error
	if p.generator, p.model, err = p.c.find(ctx); err != nil {
		p.c.withdraw(parts)
		return p.failed(ctx, "the choice of the model", err)
	}
	p.limit = p.c.tokenLimit(p.generator, p.model)

	id := bus.NewID()
	inner, end := p.c.observePrompt(ctx, PromptInfo{ID: id, Model: p.model, Purpose: p.c.o.Purpose, Parts: parts})
	defer func() { end(p.ended(last)) }()
	var stop func()
	p.clock, stop = watch(inner, p.c.o.Limits.Time, p.c.o.Bus, func() { p.cancel(errTimeUp) })
	defer stop()
	last = work(inner, p)
	p.emitWarnings()
	p.finished = true
	return last
}

// ended returns the end of the prompt for the observer.
func (p *prompting) ended(last Event) PromptEnd {
	end := PromptEnd{Turns: p.turns, Calls: p.calls, Usage: p.usage, Left: p.left}
	if len(p.answers) > 0 {
		end.Text = p.answers[len(p.answers)-1]
	}
	switch {
	case last.Err != nil:
		end.Err = last.Err
	case last.Type == EventCancelled, !p.finished:
		end.Err = fault.New(fault.Cancelled, "agent.run", "The prompt was cancelled.", "")
	case last.Type == EventStopped, last.Type == EventBlocked:
		end.Err = fault.New(fault.StopExecution, "agent.run", "The prompt was stopped: "+last.Text, "")
	}
	return end
}

// emit passes an event to the caller. If the caller has left the loop, it cancels the rest.
func (p *prompting) emit(e Event) {
	if p.left {
		return
	}
	p.yielding = true
	p.left = !p.yield(e)
	p.yielding = false
	if p.left && p.cancel != nil {
		p.cancel(errLeft)
	}
}

func (p *prompting) emitWarnings() {
	for len(p.c.warnings) > 0 {
		w := p.c.warnings[0]
		p.c.warnings = p.c.warnings[1:]
		p.emit(w)
	}
}

// interrupted returns the event that ends the prompt if ctx has ended.
func (p *prompting) interrupted(ctx context.Context) *Event {
	switch {
	case ctx.Err() == nil:
		return nil
	case errors.Is(context.Cause(ctx), errTimeUp):
		return &Event{Type: EventLimit, Err: timeReached(p.c.o.Limits.Time)}
	}
	return &Event{Type: EventCancelled}
}

// failed returns the event for an error of a part of Options.
func (p *prompting) failed(ctx context.Context, operation string, err error) Event {
	if e := p.interrupted(ctx); e != nil {
		return *e
	}
	return Event{Type: EventError, Err: asFault(operation, err)}
}

// settle answers calls that are still open when the work has ended, for example after a panic of the caller.
func (p *prompting) settle(ctx context.Context) {
	if calls := openCalls(p.c.history); len(calls) > 0 {
		p.c.append(ctx, Entry{Content: model.Content{Role: model.RoleUser, Parts: answers(calls, nil)}})
	}
}

// work runs a prompt with the steps before and after it.
func (p *prompting) work(ctx context.Context, prompt []model.Part) Event {
	if len(prompt) == 0 {
		return Event{Type: EventError, Err: fault.New(fault.AgentFailed, "agent.run", "The prompt is empty.", "Describe the task.")}
	}
	parts, end := p.before(ctx, prompt)
	if end != nil {
		return *end
	}
	for again := false; ; again = true {
		if last := p.answer(ctx, parts); last.Type != EventDone {
			return last
		}
		if parts, end = p.after(ctx, prompt, again); end != nil {
			return *end
		}
	}
}

// answer makes requests and runs calls until there is an answer without calls.
func (p *prompting) answer(ctx context.Context, parts []model.Part) Event {
	for {
		if err := p.c.turnLimit(p.turns); err != nil {
			p.c.withdraw(parts)
			return Event{Type: EventLimit, Err: err}
		}
		answer, end := p.request(ctx, parts)
		if end != nil {
			return *end
		}
		p.answers = append(p.answers, answer.Content.Text())
		if parts, end = p.respond(ctx, answer); end != nil {
			return *end
		}
	}
}

// respond handles an answer, and returns the parts of the next user turn; nil if they are in the history. Otherwise it
// returns the event that ends the prompt.
func (p *prompting) respond(ctx context.Context, answer *answered) ([]model.Part, *Event) {
	calls := answer.Content.Calls()
	if answer.looped == nil {
		answer.looped = p.repeats(calls)
	}
	if answer.looped != nil {
		return p.breakLoop(ctx, calls, answer.looped)
	}
	if end := p.interrupted(ctx); end != nil && len(calls) == 0 {
		return nil, end
	}
	if len(calls) == 0 {
		return nil, &Event{Type: EventDone}
	}
	p.calls += len(calls)
	responses := p.c.runCalls(ctx, calls)
	p.clock.reset()
	parts := responseParts(calls, responses)
	end := p.interrupted(ctx)
	var reminders []model.Part
	if stop := stoppedBy(responses); stop != "" && end == nil {
		end = &Event{Type: EventStopped, Text: stop}
	}
	if end == nil {
		reminders, end = p.remind(ctx)
	}
	p.reply(ctx, slices.Concat(parts, reminders), calls, responses)
	if end == nil {
		p.c.pending = nil
	}
	return nil, end
}

// reply adds the turn with the responses to calls, and records it.
func (p *prompting) reply(ctx context.Context, parts []model.Part, calls []model.FunctionCall, responses []scheduler.Response) {
	p.c.addUserTurn(ctx, parts, responses)
	p.emitWarnings()
	for i := range calls {
		p.emit(Event{Type: EventToolResponse, Call: &calls[i], Response: &responses[i]})
	}
}

// repeats reports whether these calls complete a loop.
func (p *prompting) repeats(calls []model.FunctionCall) *fault.Error {
	if p.c.o.NoLoopDetection || !p.loops.answer(calls) {
		return nil
	}
	return fault.New(fault.LoopDetected, "agent.loop",
		"The same tool calls were repeated; the last ones were not run.",
		"Do not repeat them: check their results and use another approach, or describe the obstacle.").Because(repeatedCalls)
}

// breakLoop warns the model once that it repeats itself, and ends the prompt the second time. Calls are answered and not
// run.
func (p *prompting) breakLoop(ctx context.Context, calls []model.FunctionCall, loop *fault.Error) ([]model.Part, *Event) {
	p.repeated++
	p.loops = loopDetector{}
	end := p.interrupted(ctx)
	feedback := []model.Part{model.TextPart("[" + loop.Line() + "]")}
	if end == nil && p.repeated > 1 {
		end = &Event{Type: EventLoop, Err: loop}
	}
	if len(calls) > 0 {
		responses := p.c.failAll(calls, loop)
		parts := responseParts(calls, responses)
		if end == nil {
			parts = append(parts, feedback...)
			feedback = nil
		}
		p.reply(ctx, parts, calls, responses)
	}
	if end != nil {
		return nil, end
	}
	warning := *loop
	warning.Remedy = "" // the remedy is for the model
	p.emit(Event{Type: EventWarning, Text: loop.Message + " The model was asked to use another approach.", Err: &warning})
	return feedback, nil
}

// send makes one request for SendStream.
func (p *prompting) send(ctx context.Context, parts []model.Part) Event {
	sent := userParts(parts)
	open := openCalls(p.c.history)
	if len(open) > 0 {
		for _, part := range parts {
			if part.Response != nil {
				sent = append(sent, model.Part{Response: part.Response})
			}
		}
		sent = answers(open, sent)
	}
	switch n := len(p.c.history); {
	case len(sent) == 0 && n > 0 && p.c.history[n-1].Role == model.RoleUser:
		sent = nil // the user turn is still unanswered
	case len(sent) == 0:
		return Event{Type: EventError, Err: fault.New(fault.AgentFailed, "agent.send", "There is nothing to send.", "Describe the task.")}
	case len(open) > 0 && len(sent) == len(open): // responses only: they stay, whatever the outcome of the request
		reminders, end := p.remind(ctx)
		p.c.addUserTurn(ctx, slices.Concat(sent, reminders), nil)
		if end != nil {
			return *end
		}
		sent, p.c.pending = nil, nil
	}
	if err := p.c.turnLimit(0); err != nil {
		p.c.withdraw(sent)
		return Event{Type: EventLimit, Err: err}
	}
	answer, end := p.request(ctx, sent)
	if end != nil {
		return *end
	}
	calls := answer.Content.Calls()
	p.answers, p.calls = append(p.answers, answer.Content.Text()), len(calls)
	switch {
	case answer.looped != nil:
		return Event{Type: EventLoop, Err: answer.looped}
	case len(calls) > 0:
		return Event{}
	}
	return Event{Type: EventDone}
}

// texts joins the texts of the answers.
func (p *prompting) texts() string {
	return strings.Join(slices.DeleteFunc(slices.Clone(p.answers), func(text string) bool { return text == "" }), "\n")
}
