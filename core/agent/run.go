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

// Run works on a prompt until the model answers without calling a tool, or
// something ends it: request, calls, their answers, next request. It begins with
// the ranging, and the last event is of a type that Ends. Leaving the loop early
// cancels what runs; the history is valid afterwards, with an answer to each
// call.
//
// A prompt that gets no answer is taken back from the history, so that the next
// one stands alone; what calls have done stays in it with their responses. Only
// the prompt of an EventStopped stays. Of prompt, texts and data are taken.
func (c *Client) Run(ctx context.Context, prompt ...model.Part) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		c.converse(ctx, yield, prompt, func(ctx context.Context, p *prompting) Event {
			defer p.settle(ctx)
			return p.work(ctx, userParts(prompt))
		})
	}
}

// SendStream makes one request with these parts as the user's turn and ends with
// its answer; its calls are the caller's to run, with ProcessTurn. A call that
// is not answered until the next request is answered as cancelled, and a response
// to no call is dropped. Responses stay in the history even if the request fails,
// and what was said and not answered is asked again if there is nothing more to
// say. An answer without calls ends with an event of type done,
// one with calls with that of type finished; whatever else Ends may come instead.
// Of Steps, those of requests take part; Limits.PromptTurns does not apply, and a
// model that repeats itself is stopped the first time.
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
	model     string // its name, as far as generator tells it
	limit     int    // tokens of a request
	clock     *stopwatch

	yield    func(Event) bool
	yielding bool // yield runs: what panics is the caller's
	left     bool // nobody ranges over the events any more
	finished bool // the work came to its end
	cancel   context.CancelCauseFunc

	told     bool // which model answers
	turns    int  // requests
	calls    int
	usage    model.Usage
	answers  []string // texts
	repeated int      // how often the model was found to repeat itself
	loops    loopDetector
}

// Why the work on a prompt is ended, apart from the caller's own ctx.
var (
	errLeft   = errors.New("nobody listens any more")
	errTimeUp = errors.New("the time for the prompt is up")
)

// converse has work done on the conversation while nobody else does, and tells
// how it ended once the conversation is free again. An Event that is zero is not
// told.
func (c *Client) converse(ctx context.Context, yield func(Event) bool, parts []model.Part, work func(context.Context, *prompting) Event) {
	p := &prompting{c: c, yield: yield}
	if last := p.hold(ctx, parts, work); last.Type != "" {
		p.emit(last)
	}
}

// hold is converse up to its last event.
func (p *prompting) hold(ctx context.Context, parts []model.Part, work func(context.Context, *prompting) Event) (last Event) {
	if p.c.acquire(ctx) != nil {
		p.c.withdraw(parts)
		return Event{Type: EventCancelled}
	}
	defer p.c.release()
	ctx, p.cancel = context.WithCancelCause(ctx)
	defer p.cancel(nil)
	p.tellWarnings()
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
	p.tellWarnings()
	p.finished = true
	return last
}

// ended is what the observer is told at the end.
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

// emit hands an event to who ranges over them. Once that is nobody, all that
// follows is cancelled.
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

func (p *prompting) tellWarnings() {
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

// failed is the event for an error of something that the client was given.
func (p *prompting) failed(ctx context.Context, what string, err error) Event {
	if e := p.interrupted(ctx); e != nil {
		return *e
	}
	return Event{Type: EventError, Err: asFault(what, err)}
}

// settle answers calls that are open although the work has ended, as where who
// listens panics.
func (p *prompting) settle(ctx context.Context) {
	if calls := openCalls(p.c.history); len(calls) > 0 {
		p.c.append(ctx, Entry{Content: model.Content{Role: model.RoleUser, Parts: answers(calls, nil)}})
	}
}

// work runs a prompt with its steps before and after.
func (p *prompting) work(ctx context.Context, prompt []model.Part) Event {
	if len(prompt) == 0 {
		return Event{Type: EventError, Err: fault.New(fault.AgentFailed, "agent.run", "The prompt is empty.", "Say what is to be done.")}
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

// respond does what an answer asks for, and returns what the user's next turn is
// to say; nil if that is in the history. Else the prompt ends with an event.
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
		p.c.owed = nil
	}
	return nil, end
}

// reply adds the turn that answers calls, and tells it.
func (p *prompting) reply(ctx context.Context, parts []model.Part, calls []model.FunctionCall, responses []scheduler.Response) {
	p.c.say(ctx, parts, responses)
	p.tellWarnings()
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
		"The same tool calls were made again and again; the last ones were not run.",
		"Do not repeat them: look at what they have given, and go another way, or say what is in the way.").Because(RepeatedCalls)
}

// breakLoop tells a model once that it repeats itself, and ends the prompt if it
// does again. Calls are answered and not run.
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
	told := *loop
	told.Remedy = "" // which is for the model
	p.emit(Event{Type: EventWarning, Text: loop.Message + " The model was told to go another way.", Err: &told})
	return feedback, nil
}

// send makes one request for SendStream.
func (p *prompting) send(ctx context.Context, parts []model.Part) Event {
	said := userParts(parts)
	open := openCalls(p.c.history)
	if len(open) > 0 {
		for _, part := range parts {
			if part.Response != nil {
				said = append(said, model.Part{Response: part.Response})
			}
		}
		said = answers(open, said)
	}
	switch n := len(p.c.history); {
	case len(said) == 0 && n > 0 && p.c.history[n-1].Role == model.RoleUser:
		said = nil // what was said is still unanswered
	case len(said) == 0:
		return Event{Type: EventError, Err: fault.New(fault.AgentFailed, "agent.send", "There is nothing to send.", "Say what is to be done.")}
	case len(open) > 0 && len(said) == len(open): // responses alone: they stay whatever becomes of the request
		reminders, end := p.remind(ctx)
		p.c.say(ctx, slices.Concat(said, reminders), nil)
		if end != nil {
			return *end
		}
		said, p.c.owed = nil, nil
	}
	if err := p.c.turnLimit(0); err != nil {
		p.c.withdraw(said)
		return Event{Type: EventLimit, Err: err}
	}
	answer, end := p.request(ctx, said)
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
