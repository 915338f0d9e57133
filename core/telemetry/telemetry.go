// Package telemetry records conversations as OpenTelemetry spans and metrics, according to the
// semantic conventions for generative AI. It depends only on the OpenTelemetry API: an embedder
// passes the providers.
package telemetry

import (
	"cmp"
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	nometric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	notrace "go.opentelemetry.io/otel/trace/noop"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// Options configures a [Telemetry]. The zero value measures nothing. Every function must be safe
// for concurrent use.
type Options struct {
	TracerProvider trace.TracerProvider // nil: no spans
	MeterProvider  metric.MeterProvider // nil: no metrics

	// SessionID returns the ID of the session; it is called for each prompt. nil or "": spans have
	// no session ID.
	SessionID func() string
	// Agent is the agent name of prompts outside of subagents; "": fettle.
	Agent string
	// Version is the version of the program, recorded as the version of the scope.
	Version string

	// Content enables recording content: prompts, system prompts, answers, arguments, results, and
	// the text of errors and decisions. false: no content is recorded.
	Content bool
	// Mask replaces secrets in a text, before text with the shape of a secret is masked. It is
	// required with Content, and otherwise unused. It receives complete, decoded texts, before they
	// are cut. A text on which it panics is omitted.
	Mask func(text string) string
	// MaxContent is the limit on the content of one attribute in bytes, excluding its JSON syntax;
	// 0 or less: 16 KiB.
	MaxContent int

	Now func() time.Time // for durations; nil: time.Now
}

// Defaults of [Options].
const (
	DefaultAgent      = "fettle"
	DefaultMaxContent = 16 << 10
)

// Telemetry reports a conversation and its subagents to OpenTelemetry providers. It is an
// [agent.Observer], and [Telemetry.Call] is a [scheduler.Observe]. The context connects them: the
// span of a call is a child of the turn that requested it. The span of a subagent's prompt is a
// child of the call that started the subagent.
//
// A Telemetry is safe for concurrent use, starts no goroutine, and needs no shutdown: the owner of
// the providers flushes and shuts them down.
type Telemetry struct {
	o      Options
	tracer trace.Tracer
	m      *instruments

	mu      sync.Mutex
	counted bool // session has been counted
	session string
}

var (
	_ agent.Observer    = (*Telemetry)(nil)
	_ scheduler.Observe = (*Telemetry)(nil).Call
)

// New returns a Telemetry. It fails with code invalid_config for Content without Mask, or if a
// provider rejects an instrument.
func New(o Options) (*Telemetry, error) {
	if o.Content && o.Mask == nil {
		return nil, fault.New(fault.InvalidConfig, "telemetry.new", "Content is to be recorded without Options.Mask, which masks secrets.",
			"Set Options.Mask, or leave Options.Content false.")
	}
	if o.TracerProvider == nil {
		o.TracerProvider = notrace.NewTracerProvider()
	}
	if o.MeterProvider == nil {
		o.MeterProvider = nometric.NewMeterProvider()
	}
	if o.SessionID == nil {
		o.SessionID = func() string { return "" }
	}
	o.Agent = cmp.Or(o.Agent, DefaultAgent)
	if o.MaxContent <= 0 {
		o.MaxContent = DefaultMaxContent
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	m, err := newInstruments(o.MeterProvider.Meter(scope, metric.WithInstrumentationVersion(o.Version)))
	if err != nil {
		return nil, fault.Wrap(fault.InvalidConfig, "telemetry.new", "The meter provider rejects an instrument.",
			"Check the views of the meter provider.", err)
	}
	return &Telemetry{o: o, m: m, tracer: o.TracerProvider.Tracer(scope, trace.WithInstrumentationVersion(o.Version))}, nil
}

// sessionID returns the ID of the session, and counts a new session.
func (t *Telemetry) sessionID(ctx context.Context) string {
	id := t.o.SessionID()
	t.mu.Lock()
	fresh := !t.counted || id != t.session
	t.counted, t.session = true, id
	t.mu.Unlock()
	if fresh {
		t.m.sessions.Add(ctx, 1)
	}
	return id
}

// start starts a span of kind internal.
func (t *Telemetry) start(ctx context.Context, name string) (context.Context, trace.Span) {
	return t.tracer.Start(ctx, name)
}

// set adds the attributes that are not empty.
func set(span trace.Span, attributes ...attribute.KeyValue) {
	span.SetAttributes(nonEmpty(attributes)...)
}

// nonEmpty returns the attributes that are not empty texts.
func nonEmpty(attributes []attribute.KeyValue) []attribute.KeyValue {
	kept := attributes[:0]
	for _, a := range attributes {
		if a.Value.Type() != attribute.STRING || a.Value.AsString() != "" {
			kept = append(kept, a)
		}
	}
	return kept
}

// measured returns the attributes of a measurement.
func measured(attributes ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributes(nonEmpty(attributes)...)
}
