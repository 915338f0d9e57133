package agent

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// answered is an answer that is part of the history.
type answered struct {
	*model.Response
	looped *fault.Error // it was cut because it repeated itself
}

// request sends parts, or nothing if the history already ends with a user turn, and adds the answer to the history.
// Without an answer it returns the event that ends the prompt. A conversation that is too long is compacted once.
func (p *prompting) request(ctx context.Context, parts []model.Part) (answer *answered, end *Event) {
	ended := false
	defer func() {
		if !ended || end != nil && end.Type != EventStopped {
			p.c.withdraw(parts)
		}
	}()
	answer, end = p.inRoom(ctx, parts)
	ended = true
	return answer, end
}

// inRoom is request without the compaction and retry.
func (p *prompting) inRoom(ctx context.Context, parts []model.Part) (*answered, *Event) {
	if _, end := p.makeRoom(ctx, parts, false); end != nil {
		return nil, end
	}
	answer, end := p.ask(ctx, parts)
	if end == nil || end.Type != EventOverflow || !p.c.compactsItself() {
		return answer, end
	}
	switch changed, stop := p.makeRoom(ctx, parts, true); {
	case stop != nil:
		return nil, stop
	case !changed:
		return nil, end
	}
	return p.ask(ctx, parts)
}

// makeRoom compacts the history if needed or forced, and reports whether there is a new one.
func (p *prompting) makeRoom(ctx context.Context, parts []model.Part, force bool) (bool, *Event) {
	if !force && !p.c.needsCompaction(parts, p.limit) {
		return false, nil
	}
	result, err := p.c.compact(ctx, p.generator, p.model, force, false)
	p.usage = sum(p.usage, result.Usage)
	if err != nil {
		if end := p.interrupted(ctx); end != nil {
			return false, end
		}
		f := asFault("the compaction of the history", err)
		p.c.warn(fault.Wrap(f.Code, "agent.compact", "The conversation could not be shortened: "+f.Message,
			"It continues unchanged; start a new one if it becomes too long.", err).Because(f.Reason))
	}
	p.emitWarnings()
	if result.Status == 0 || result.Status == CompactionNoop {
		return false, p.interrupted(ctx)
	}
	p.emit(Event{Type: EventCompaction, Compaction: &result})
	if end := p.interrupted(ctx); end != nil || !result.Status.Changed() || parts != nil {
		return result.Status.Changed(), end
	}
	return true, p.goOn(ctx)
}

// goOn makes a new history end with a user turn, including new reminders.
func (p *prompting) goOn(ctx context.Context) *Event {
	parts, end := p.remind(ctx)
	if end != nil {
		return end
	}
	last := len(p.c.history) - 1
	switch {
	case p.c.history[last].Role == model.RoleModel:
		p.c.addUserTurn(ctx, slices.Concat([]model.Part{model.TextPart("Continue with the task.")}, parts), nil)
	case len(parts) > 0:
		parts = slices.Concat(p.c.history[last].Parts, parts)
		p.c.rewind(ctx, last)
		p.c.append(ctx, Entry{Content: model.Content{Role: model.RoleUser, Parts: parts}})
	}
	p.c.pending = nil
	return nil
}

// remind returns the pending reminders, first those of failed requests. They stay pending until they are sent.
func (p *prompting) remind(ctx context.Context) ([]model.Part, *Event) {
	if p.c.o.Reminders != nil {
		var added []model.Part
		err := p.c.guard("the source of reminders", func() (err error) {
			added, err = p.c.o.Reminders(ctx)
			return err
		})
		if err != nil {
			e := p.failed(ctx, "the source of reminders", err)
			return nil, &e
		}
		p.c.pending = joined(p.c.pending, userParts(added))
	}
	return p.c.pending, nil
}

// joined returns the undelivered and the new reminders. A text that another one contains, for example after compaction,
// is sent once.
func joined(pending, added []model.Part) []model.Part {
	holds := func(all []model.Part, text string) bool {
		return text != "" && slices.ContainsFunc(all, func(p model.Part) bool { return strings.Contains(p.Text, text) })
	}
	pending = slices.DeleteFunc(slices.Clone(pending), func(p model.Part) bool { return holds(added, p.Text) })
	return append(pending, slices.DeleteFunc(slices.Clone(added), func(p model.Part) bool { return holds(pending, p.Text) })...)
}

// ask sends parts, if any, and requests an answer. Without an answer the parts are removed again, unless a step ended
// the prompt on purpose.
func (p *prompting) ask(ctx context.Context, parts []model.Part) (*answered, *Event) {
	if parts == nil {
		return p.askAsItIs(ctx)
	}
	reminders, end := p.remind(ctx)
	if end != nil {
		return nil, end
	}
	change := p.c.addUserTurn(ctx, slices.Concat(parts, reminders), nil)
	p.c.pending = nil
	answer, end := p.askAsItIs(ctx)
	if end != nil && end.Type != EventStopped {
		p.c.undoUserTurn(ctx, change)
		p.c.pending = reminders
	}
	p.emitWarnings()
	return answer, end
}

// askAsItIs makes the request for the current history.
func (p *prompting) askAsItIs(ctx context.Context) (*answered, *Event) {
	p.emitWarnings()
	r, end := p.build(ctx)
	if end != nil {
		return nil, end
	}
	tokens := p.c.requestLength(r)
	if tokens > p.limit {
		return nil, p.overflow(tokens, nil)
	}
	if !p.modelReported {
		p.modelReported = true
		p.emit(Event{Type: EventModel, Text: p.model})
	}
	p.turns++
	p.c.requests++
	p.loops.text = chant{}
	answer, end := p.attempts(ctx, r, tokens)
	if end != nil {
		return nil, end
	}
	p.keep(ctx, answer, tokens)
	return answer, nil
}

// requestLength estimates the tokens of a request, from the known length of its start, or else from its text.
func (c *Client) requestLength(r *model.Request) int {
	if c.tokens > 0 {
		return c.length(nil)
	}
	return model.EstimateTokens(r)
}

func (p *prompting) overflow(tokens int, cause error) *Event {
	return &Event{Type: EventOverflow, Tokens: tokens, Limit: p.limit, Err: tokensReached(tokens, p.limit, cause)}
}

// build returns the request for the current history.
func (p *prompting) build(ctx context.Context) (*model.Request, *Event) {
	c := p.c
	if end := p.interrupted(ctx); end != nil {
		return nil, end
	}
	r := &model.Request{
		Model: bareName(p.model), Contents: outgoing(c.history, p.model),
		Temperature: c.o.Temperature, MaxOutputTokens: c.o.Limits.OutputTokens, Purpose: c.o.Purpose,
	}
	c.mu.Lock()
	declare := c.tools
	c.mu.Unlock()
	operation := "the system prompt"
	err := c.guard(operation, func() (err error) {
		if c.o.System != nil {
			r.System, err = c.o.System(ctx)
		}
		return err
	})
	if err == nil && declare != nil {
		operation = "the list of tools"
		err = c.guard(operation, func() error {
			r.Tools = declare()
			if c.o.Deferred != nil {
				r.Deferred = c.o.Deferred()
			}
			return nil
		})
	}
	if err != nil {
		e := p.failed(ctx, operation, err)
		return nil, &e
	}
	return r, nil
}

// keep adds an answer to the history and emits its calls, sources and end. An empty answer after responses adds no turn.
// tokens is the client's estimate of the request.
func (p *prompting) keep(ctx context.Context, answer *answered, tokens int) {
	c := p.c
	c.refuse(refusals(answer.Response))
	if len(answer.Content.Parts) > 0 {
		name := cmp.Or(answer.Model, p.model)
		c.append(ctx, Entry{Content: answer.Content, Model: name, Usage: answer.Usage})
	}
	c.covered = len(c.history)
	if answer.Usage.Input > 0 {
		c.tokens = answer.Usage.Input + answer.Usage.Output
	} else {
		c.tokens = tokens + model.EstimateTokens(&model.Request{Contents: []model.Content{answer.Content}})
	}
	p.emitWarnings()
	for _, call := range answer.Content.Calls() {
		p.emit(Event{Type: EventToolCall, Call: &call})
	}
	if len(answer.Citations) > 0 {
		p.emit(Event{Type: EventCitation, Text: citations(answer.Citations)})
	}
	p.emit(Event{Type: EventFinished, Finish: answer.Finish, Usage: answer.Usage})
}
