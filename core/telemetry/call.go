package telemetry

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// callKey is the context key of the running call of one Telemetry.
type callKey struct{ *Telemetry }

// call is a running tool call.
type call struct {
	tool string

	mu    sync.Mutex
	agent time.Time // start of its subagent; zero if it runs none
}

// callOf returns the running call of ctx, or nil.
func (t *Telemetry) callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{t}).(*call)
	return c
}

// runsAgent records that the call runs a subagent. One run may consist of several prompts.
func (c *call) runsAgent(begun time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.agent.IsZero() {
		c.agent = begun
	}
}

// Call starts a span for a tool call. The span covers the time from the tool lookup to the
// response, including the wait for an approval. Call is a [scheduler.Observe].
func (t *Telemetry) Call(ctx context.Context, r scheduler.Request) (context.Context, func(scheduler.Response)) {
	begun := t.o.Now()
	c := &call{tool: toolName(r.Tool)}
	ctx, span := t.start(t.promptOf(ctx).within(ctx), spanTool+" "+c.tool)
	ctx = context.WithValue(ctx, callKey{t}, c)
	if span.IsRecording() {
		set(span, attrOperation.String(spanTool), attrTool.String(c.tool), attrToolType.String("function"), attrCallID.String(bounded(r.CallID)))
	}
	return ctx, func(resp scheduler.Response) {
		failed := t.describeCall(ctx, span, c.tool, resp)
		span.End()
		t.measureCall(ctx, resp, failed, t.since(begun))
		c.mu.Lock()
		agent := c.agent
		c.mu.Unlock()
		if !agent.IsZero() {
			t.countRun(ctx, c.tool, failed.code, agent)
		}
	}
}

// describeCall records the outcome of a call.
func (t *Telemetry) describeCall(ctx context.Context, span trace.Span, asked string, resp scheduler.Response) failure {
	var failed failure
	var err error
	if resp.Status != scheduler.StatusSuccess {
		if resp.Result.Error != nil {
			err = resp.Result.Error
		}
		if failed = classify(ctx, err); failed.code == "" {
			failed.code = string(fault.Unknown)
		}
	}
	if !span.IsRecording() {
		return failed
	}
	if name := toolName(resp.Tool); name != asked { // it was called by an alias
		span.SetName(spanTool + " " + name)
		set(span, attrTool.String(name))
	}
	d := resp.Decision
	set(span, attrStatus.String(string(resp.Status)), attrVerdict.String(string(d.Decision)), attrTier.String(d.Tier), attrSource.String(cut(d.Source, maxPath)))
	if d.Line > 0 {
		span.SetAttributes(attrLine.Int(d.Line))
	}
	t.fail(span, failed, err)
	if t.o.Content {
		t.describeContent(span, resp)
	}
	return failed
}

// describeContent records arguments and results of a call.
func (t *Telemetry) describeContent(span trace.Span, resp scheduler.Response) {
	set(span, attrRule.String(t.excerpt().text(resp.Decision.Rule)), attrReason.String(t.excerpt().text(resp.Decision.Reason)),
		attrArguments.String(t.excerpt().json(resp.Params)), attrResult.String(t.excerpt().json([]byte(resp.Result.LLMContent.String()))))
}

// measureCall counts a call and its decision. The name of an unregistered tool is not recorded,
// since it is arbitrary model output.
func (t *Telemetry) measureCall(ctx context.Context, resp scheduler.Response, failed failure, seconds float64) {
	tool := toolName(resp.Tool)
	if failed.code == string(fault.ToolNotRegistered) {
		tool = otherTool
	}
	if t.m.calls.Enabled(ctx) || t.m.call.Enabled(ctx) {
		by := measured(attrTool.String(tool), attrStatus.String(string(resp.Status)), attrErrorType.String(failed.code))
		t.m.calls.Add(ctx, 1, by)
		t.m.call.Record(ctx, seconds, by)
	}
	if resp.Decision.Decision != policy.Verdict("") && t.m.decisions.Enabled(ctx) {
		t.m.decisions.Add(ctx, 1, measured(attrTool.String(tool), attrVerdict.String(string(resp.Decision.Decision)),
			attrTier.String(resp.Decision.Tier), attrStatus.String(string(resp.Status))))
	}
}
