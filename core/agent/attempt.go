package agent

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// attempts repeats a request until it is answered or a retry is not worthwhile. An answer is used only after its stream
// has ended successfully, so that a call of a broken answer never runs.
func (p *prompting) attempts(ctx context.Context, r *model.Request, tokens int) (*answered, *Event) {
	afterCalls := len(r.Contents[len(r.Contents)-1].Responses()) > 0
	patience := backoff{retry: p.c.o.Retry}
	var reason fault.Reason // why the last answer was invalid
	for n := 1; ; n++ {
		now := *r
		now.System = nudged(r.System, reason)
		a := p.attempt(ctx, &now, n)
		p.spend(a.response.Usage)
		if end := p.interrupted(ctx); end != nil {
			return nil, end
		}
		if a.end != nil {
			return nil, a.end
		}
		failure := a.failure
		if reason = noDefect; failure == nil && a.looped == nil {
			reason = defectOf(a.response, afterCalls)
		}
		if failure == nil && reason == noDefect {
			return &answered{a.response, a.looped}, nil
		}
		wait, again := patience.again(a.began, failure)
		if !again {
			return nil, p.giveUp(failure, reason, n, tokens)
		}
		because := attemptError(failure, reason, n)
		if p.c.o.Logger != nil {
			p.c.o.Logger.Debug("a request is made again", "attempt", n, "wait", wait, "code", string(because.Code), "reason", string(because.Reason))
		}
		p.emit(Event{Type: EventRetry, Retry: &RetryInfo{Attempt: n, Wait: wait, Reason: because}})
		p.loops.text = chant{}
		pause(ctx, wait)
		if end := p.interrupted(ctx); end != nil {
			return nil, end
		}
	}
}

func (p *prompting) spend(u model.Usage) {
	p.usage = sum(p.usage, u)
	p.c.spend(u)
}

// attemptError describes a failed attempt for the user.
func attemptError(failure *model.Error, reason fault.Reason, n int) *fault.Error {
	if failure != nil {
		return failure.Fault()
	}
	return invalidAnswer(reason, n)
}

// giveUp returns the event that ends a prompt whose request remains unanswered.
func (p *prompting) giveUp(failure *model.Error, reason fault.Reason, n, tokens int) *Event {
	switch {
	case failure == nil:
		return &Event{Type: EventInvalidStream, Err: invalidAnswer(reason, n)}
	case failure.Kind == model.ContextExceeded:
		return p.overflow(tokens, failure)
	}
	return &Event{Type: EventError, Err: failure.Fault()}
}

// attempted is the result of one attempt.
type attempted struct {
	response *model.Response // the received part; never nil
	began    bool
	looped   *fault.Error
	failure  *model.Error
	end      *Event // set if the prompt ends
}

// attempt makes a request once.
func (p *prompting) attempt(ctx context.Context, r *model.Request, n int) (a attempted) {
	a.response = &model.Response{}
	r, instead, end := p.beforeRequest(ctx, r)
	if end != nil {
		a.end = end
		return a
	}
	var answer model.Collector
	if instead != nil {
		finish := cmp.Or(instead.Finish, model.FinishStop)
		a.began = true
		p.take(ctx, &a, &answer, &model.Chunk{ID: instead.ID, Model: instead.Model, Parts: instead.Content.Parts,
			Finish: finish, Usage: &instead.Usage, Citations: instead.Citations})
	} else {
		p.stream(ctx, &a, &answer, r, n)
	}
	a.response = p.complete(&answer, a.looped != nil)
	return a
}

// stream ranges over the answer of the model.
func (p *prompting) stream(ctx context.Context, a *attempted, answer *model.Collector, r *model.Request, n int) {
	ctx, ended := p.c.observeRequest(ctx, RequestInfo{Request: r, Attempt: n})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var failure error
	defer func() {
		end := RequestEnd{Err: failure}
		if failure == nil && ctx.Err() != nil {
			end.Err = context.Cause(ctx)
		}
		if end.Err == nil || a.began {
			end.Response = answer.Response()
		}
		ended(end)
	}()
	defer func() {
		if p.yielding { // a panic of the caller is passed on
			return
		}
		if cause := recover(); cause != nil {
			f := p.c.defect("the model's generator", cause)
			failure, a.end = f, &Event{Type: EventError, Err: f}
		}
	}()
	for chunk, err := range p.generator.Stream(ctx, r) {
		if err != nil {
			failure = err
			break
		}
		a.began = true
		if chunk != nil && !p.take(ctx, a, answer, chunk) {
			break
		}
	}
	if failure != nil {
		p.sort(ctx, a, failure)
	}
}

// sort classifies an error of the Generator. A provider that cancels on its own has lost its connection; a fault that is
// not the provider's ends the prompt.
func (p *prompting) sort(ctx context.Context, a *attempted, err error) {
	var e *model.Error
	if !errors.As(err, &e) && fault.As(err) != nil {
		end := p.failed(ctx, "the model", err)
		a.end = &end
		return
	}
	provider, _, _ := strings.Cut(p.model, ":")
	e = model.AsError(provider, err)
	if e.Kind == model.Canceled {
		connection := *e
		connection.Kind = model.Connection
		e = &connection
	}
	a.failure = e
}

// take adds a chunk to the answer and emits its events. It reports whether to continue.
func (p *prompting) take(ctx context.Context, a *attempted, answer *model.Collector, chunk *model.Chunk) bool {
	own := *chunk
	own.Parts = slices.Clone(chunk.Parts)
	if a.end = p.afterChunk(ctx, &own); a.end != nil {
		return false
	}
	answer.Add(&own)
	for _, part := range own.Parts {
		if ctx.Err() != nil {
			return false
		}
		switch {
		case part.Text == "" || payloads(part) > 1:
		case part.Thought:
			p.emit(Event{Type: EventThought, Thought: thoughtOf(part.Text)})
		default:
			p.emit(Event{Type: EventText, Text: part.Text})
			if !p.c.o.NoLoopDetection && p.loops.text.add(part.Text) {
				a.looped = fault.New(fault.LoopDetected, "agent.loop", "The answer repeated the same text and was cut.",
					"Do not repeat it: continue with the next step, or describe the obstacle.").Because(repeatedText)
				return false
			}
		}
	}
	return ctx.Err() == nil
}

// complete returns the answer for the history: adjacent parts of one kind are merged, and calls get names and unique
// IDs. A truncated answer has no calls.
func (p *prompting) complete(answer *model.Collector, cut bool) *model.Response {
	r := answer.Response()
	var parts []model.Part
	for _, part := range r.Content.Parts {
		for _, one := range split(part) {
			if one.Response == nil && (one.Call == nil || !cut) {
				parts = append(parts, one)
			}
		}
	}
	nameCalls(p.c.history, parts)
	r.Content = model.Content{Role: model.RoleModel, Parts: parts}
	return r
}

// thoughtOf splits a thought into subject and description.
func thoughtOf(text string) *Thought {
	before, rest, found := strings.Cut(text, "**")
	subject, after, closed := strings.Cut(rest, "**")
	if !found || !closed {
		return &Thought{Description: strings.TrimSpace(text)}
	}
	return &Thought{Subject: strings.TrimSpace(subject), Description: strings.TrimSpace(before + after)}
}

// citations lists the distinct sources, one a line.
func citations(sources []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(sources))), "\n")
}
