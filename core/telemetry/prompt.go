package telemetry

import (
	"context"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/model"
)

// promptKey is the context key of the running prompt of one Telemetry.
type promptKey struct{ *Telemetry }

// prompt is a running prompt. A client processes it turn by turn; the calls of a turn may run
// concurrently.
type prompt struct {
	t        *Telemetry
	agent    string
	provider string
	model    string // model of its requests
	purpose  string
	session  string
	span     trace.Span

	mu     sync.Mutex
	turn   *turn // running turn; nil: none
	turns  int
	failed failure // failure of the last attempt
}

// turn is a request, with its attempts and the calls in its answer.
type turn struct {
	span   trace.Span
	begun  time.Time
	failed failure
	err    error
}

// Prompt starts a span for a prompt, which is one run of an agent.
func (t *Telemetry) Prompt(ctx context.Context, info agent.PromptInfo) (context.Context, func(agent.PromptEnd)) {
	begun := t.o.Now()
	p := &prompt{t: t, agent: t.o.Agent, provider: provider(info.Model), purpose: string(info.Purpose)}
	caller := t.callOf(ctx)
	if info.Purpose == model.PurposeSubagent && caller != nil {
		p.agent = caller.tool
		caller.runsAgent(begun)
	}
	_, bare, found := strings.Cut(info.Model, ":")
	if p.model = bounded(info.Model); found {
		p.model = bounded(bare)
	}
	p.session = t.sessionID(ctx)
	ctx, p.span = t.start(ctx, spanPrompt+" "+p.agent)
	if p.span.IsRecording() {
		set(p.span, attrOperation.String(spanPrompt), attrAgent.String(p.agent), attrProvider.String(p.provider), attrModel.String(p.model),
			attrConversation.String(p.session), attrPromptID.String(info.ID), attrPurpose.String(p.purpose))
		if t.o.Content {
			p.span.SetAttributes(attrInputMessages.String(t.messages(model.Content{Role: model.RoleUser, Parts: info.Parts}, "")))
		}
	}
	return context.WithValue(ctx, promptKey{t}, p), func(e agent.PromptEnd) {
		p.endTurn(ctx)
		failed := classify(ctx, e.Err)
		if e.Left && info.Purpose == model.PurposeSubagent { // it has reported its result; the rest is not awaited
			failed = failure{}
		}
		if p.span.IsRecording() {
			p.span.SetAttributes(attrTurns.Int(e.Turns), attrCalls.Int(e.Calls))
			usage(p.span, e.Usage)
			if t.o.Content && e.Text != "" {
				p.span.SetAttributes(attrOutputMessages.String(t.messages(model.Content{Role: model.RoleModel, Parts: []model.Part{model.TextPart(e.Text)}}, "")))
			}
			t.fail(p.span, failed, e.Err)
		}
		p.span.End()
		if t.m.prompt.Enabled(ctx) {
			t.m.prompt.Record(ctx, t.since(begun), measured(attrAgent.String(p.agent), attrPurpose.String(p.purpose), attrErrorType.String(failed.code)))
		}
		if info.Purpose == model.PurposeSubagent && caller == nil {
			t.countRun(ctx, p.agent, failed.code, begun)
		}
	}
}

// countRun counts a completed run of a subagent.
func (t *Telemetry) countRun(ctx context.Context, agent, code string, begun time.Time) {
	if !t.m.agentRuns.Enabled(ctx) && !t.m.agentRun.Enabled(ctx) {
		return
	}
	by := measured(attrAgent.String(agent), attrErrorType.String(code))
	t.m.agentRuns.Add(ctx, 1, by)
	t.m.agentRun.Record(ctx, t.since(begun), by)
}

// promptOf returns the running prompt of ctx, or nil.
func (t *Telemetry) promptOf(ctx context.Context) *prompt {
	p, _ := ctx.Value(promptKey{t}).(*prompt)
	return p
}

// nextTurn ends the running turn and begins the next one.
func (p *prompt) nextTurn(ctx context.Context) {
	p.endTurn(ctx)
	_, span := p.t.start(trace.ContextWithSpan(ctx, p.span), spanTurn)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turns++
	p.turn = &turn{span: span, begun: p.t.o.Now()}
	if span.IsRecording() {
		span.SetAttributes(attrTurn.Int(p.turns), attrAgent.String(p.agent))
	}
}

// inFirstTurn reports whether the prompt is in its first turn.
func (p *prompt) inFirstTurn() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.turns <= 1
}

// endTurn ends the running turn, if any.
func (p *prompt) endTurn(ctx context.Context) {
	p.mu.Lock()
	ended := p.turn
	p.turn = nil
	p.mu.Unlock()
	if ended == nil {
		return
	}
	if ended.span.IsRecording() {
		p.t.fail(ended.span, ended.failed, ended.err)
	}
	ended.span.End()
	if p.t.m.turn.Enabled(ctx) {
		p.t.m.turn.Record(ctx, p.t.since(ended.begun), measured(attrAgent.String(p.agent), attrErrorType.String(ended.failed.code)))
	}
}

// within returns ctx with the span of the running turn, if ctx has the span of the prompt.
func (p *prompt) within(ctx context.Context) context.Context {
	if p == nil || !trace.SpanContextFromContext(ctx).Equal(p.span.SpanContext()) {
		return ctx
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.turn == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, p.turn.span)
}

// attempted records the result of an attempt, for the turn and for the next attempt.
func (p *prompt) attempted(f failure, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = f
	if p.turn != nil {
		p.turn.failed, p.turn.err = f, err
	}
}

// before returns the failure of the previous attempt.
func (p *prompt) before() failure {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// usage adds the token counts of a span. Thoughts count as output.
func usage(span trace.Span, u model.Usage) {
	for _, n := range []struct {
		key   attribute.Key
		count int
	}{{attrInput, u.Input}, {attrOutput, u.Output + u.Thoughts}, {attrCached, u.Cached}, {attrReasoning, u.Thoughts}} {
		if n.count > 0 {
			span.SetAttributes(n.key.Int(n.count))
		}
	}
}

// provider returns the name of a model's provider in the semantic conventions.
func provider(name string) string {
	own, _, found := strings.Cut(name, ":")
	if !found {
		parsed, _ := model.ParseName(name, nil)
		own = parsed.Provider
	}
	if own == "gemini" {
		return "gcp.gemini"
	}
	return bounded(own)
}
