package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// Request starts a span for an attempt at a request. The first attempt begins a turn, whose span
// contains those of all its attempts and of the calls that follow.
func (t *Telemetry) Request(ctx context.Context, info agent.RequestInfo) (context.Context, func(agent.RequestEnd)) {
	p := t.promptOf(ctx)
	known := p != nil
	if !known { // the caller has not reported a prompt
		p = &prompt{t: t, span: trace.SpanFromContext(ctx)}
	}
	r := info.Request
	name := bounded(r.Model)
	switch {
	case info.Attempt > 1:
		t.countRetry(ctx, p, name)
	case known:
		p.nextTurn(ctx)
	}
	begun := t.o.Now()
	title := spanChat
	if name != "" {
		title += " " + name
	}
	ctx, span := t.tracer.Start(p.within(ctx), title, trace.WithSpanKind(trace.SpanKindClient))
	if span.IsRecording() {
		t.describe(span, p, info, name)
	}
	return ctx, func(e agent.RequestEnd) {
		failed := classify(ctx, e.Err)
		p.attempted(failed, e.Err)
		answer := e.Response
		if answer == nil {
			answer = &model.Response{}
		}
		if span.IsRecording() {
			t.answered(span, answer)
			t.fail(span, failed, e.Err)
		}
		span.End()
		t.measure(ctx, p, name, answer, failed, t.since(begun))
	}
}

// describe records the content of a request. The system prompt is recorded once in a prompt, and
// only the new part of the history.
func (t *Telemetry) describe(span trace.Span, p *prompt, info agent.RequestInfo, name string) {
	r := info.Request
	set(span, attrOperation.String(spanChat), attrProvider.String(p.provider), attrModel.String(name), attrStream.Bool(true),
		attrConversation.String(p.session), attrAttempt.Int(info.Attempt), attrPurpose.String(string(r.Purpose)),
		attrDeclared.Int(len(r.Tools)), attrDeclaredBytes.Int(r.DeclaredBytes()), attrDeferred.Int(r.Deferred))
	if r.Temperature != nil {
		span.SetAttributes(attrTemperature.Float64(*r.Temperature))
	}
	if r.MaxOutputTokens > 0 {
		span.SetAttributes(attrMaxTokens.Int(r.MaxOutputTokens))
	}
	if !t.o.Content {
		return
	}
	if info.Attempt <= 1 && p.inFirstTurn() && r.System != "" {
		span.SetAttributes(attrSystem.String(t.system(r.System)))
	}
	if n := len(r.Contents); n > 0 {
		span.SetAttributes(attrInputMessages.String(t.messages(r.Contents[n-1], "")))
	}
}

// answered records the response, as far as it arrived.
func (t *Telemetry) answered(span trace.Span, a *model.Response) {
	set(span, attrResponseID.String(bounded(a.ID)), attrResponseModel.String(bounded(a.Model)))
	if a.Finish != "" {
		span.SetAttributes(attrFinish.StringSlice([]string{bounded(string(a.Finish))}))
	}
	usage(span, a.Usage)
	if t.o.Content && len(a.Content.Parts) > 0 {
		span.SetAttributes(attrOutputMessages.String(t.messages(a.Content, string(a.Finish))))
	}
}

// measure records time and tokens of an attempt.
func (t *Telemetry) measure(ctx context.Context, p *prompt, name string, a *model.Response, failed failure, seconds float64) {
	if t.m.operation.Enabled(ctx) {
		t.m.operation.Record(ctx, seconds, measured(attrOperation.String(spanChat), attrProvider.String(p.provider),
			attrModel.String(name), attrResponseModel.String(bounded(a.Model)), attrErrorType.String(failed.code), attrErrorReason.String(failed.reason)))
	}
	t.countTokens(ctx, p, name, bounded(a.Model), a.Usage)
}

// countTokens records the tokens of a request.
func (t *Telemetry) countTokens(ctx context.Context, p *prompt, name, answering string, u model.Usage) {
	if !t.m.tokens.Enabled(ctx) {
		return
	}
	count := func(n int, sort string) {
		if n > 0 {
			t.m.tokens.Record(ctx, int64(n), metric.WithAttributes(nonEmpty([]attribute.KeyValue{attrOperation.String(spanChat),
				attrProvider.String(p.provider), attrModel.String(name), attrResponseModel.String(answering), attrTokenType.String(sort)})...))
		}
	}
	count(u.Input, "input")
	count(u.Output+u.Thoughts, "output")
}

// countRetry counts an attempt after the first, by the failure of the previous attempt. Without a
// failure, the previous answer was unusable.
func (t *Telemetry) countRetry(ctx context.Context, p *prompt, name string) {
	if !t.m.retries.Enabled(ctx) {
		return
	}
	why := p.before()
	if why.code == "" {
		why.code = string(fault.InvalidStream)
	}
	t.m.retries.Add(ctx, 1, measured(attrProvider.String(p.provider), attrModel.String(name),
		attrErrorType.String(why.code), attrErrorReason.String(why.reason)))
}
