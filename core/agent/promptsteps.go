package agent

import (
	"context"
	"slices"

	"github.com/fettle-dev/fettle/core/model"
)

// before runs the steps before a prompt. It returns the prompt with their additions, or the event that ends it.
func (p *prompting) before(ctx context.Context, prompt []model.Part) ([]model.Part, *Event) {
	parts := slices.Clip(prompt)
	for _, step := range p.c.o.Steps.BeforePrompt {
		advice, end := p.advise(ctx, "a step before the prompt", func() (PromptAdvice, error) { return step(ctx, slices.Clone(parts)) })
		switch {
		case end != nil:
			p.c.withdraw(parts)
			return nil, end
		case advice.Stop != "":
			p.c.addUserTurn(ctx, parts, nil)
			return nil, &Event{Type: EventStopped, Text: advice.Stop}
		case advice.Block != "":
			p.c.withdraw(parts)
			return nil, &Event{Type: EventBlocked, Text: advice.Block}
		}
		parts = append(parts, userParts(advice.Context)...)
	}
	return parts, nil
}

// after runs the steps after a completed prompt. It returns the next user turn if a step continues the prompt, or the
// event that ends it.
func (p *prompting) after(ctx context.Context, prompt []model.Part, again bool) ([]model.Part, *Event) {
	for _, step := range p.c.o.Steps.AfterPrompt {
		text := p.texts()
		advice, end := p.advise(ctx, "a step after the prompt", func() (PromptAdvice, error) {
			return step(ctx, slices.Clone(prompt), text, again)
		})
		if end != nil {
			return nil, end
		}
		if advice.Clear {
			p.c.clear()
			p.c.replace(ctx, nil) // no new session follows
			p.emitWarnings()
		}
		if advice.Stop != "" {
			return nil, &Event{Type: EventStopped, Text: advice.Stop}
		}
		if advice.Block != "" {
			return append([]model.Part{model.TextPart(advice.Block)}, userParts(advice.Context)...), nil
		}
	}
	return nil, &Event{Type: EventDone}
}

// advise runs one step.
func (p *prompting) advise(ctx context.Context, operation string, step func() (PromptAdvice, error)) (advice PromptAdvice, end *Event) {
	if end = p.interrupted(ctx); end != nil {
		return PromptAdvice{}, end
	}
	err := p.c.guard(operation, func() (err error) {
		advice, err = step()
		return err
	})
	if end = p.interrupted(ctx); end == nil && err != nil {
		e := p.failed(ctx, operation, err)
		end = &e
	}
	return advice, end
}
