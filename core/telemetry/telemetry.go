// Package telemetry turns what a conversation does into OpenTelemetry spans and
// metrics, by the conventions for generative AI. It uses the API alone: whoever
// embeds it passes providers.
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

// Options are the parts of a [Telemetry]. The zero value measures nothing.
// Every function must be safe for concurrent use.
type Options struct {
	TracerProvider trace.TracerProvider // nil: no spans
	MeterProvider  metric.MeterProvider // nil: no metrics

	// SessionID names the session, asked for each prompt. nil or "": no span
	// names one.
	SessionID func() string
	// Agent names who is asked by prompts that no subagent works on; "": fettle.
	Agent string
	// Version is that of the program, told as the version of the scope.
	Version string

	// Content has spans hold what is said as well: prompts, system prompts,
	// answers, arguments, results, the words of errors and of decisions. false:
	// none of these ever leaves.
	Content bool
	// Mask takes secrets out of a text, before what has the shape of one goes. Required with Content, and else unused.
	// It is given decoded texts, whole, before they are cut. A text over which it
	// panics is left out.
	Mask func(text string) string
	// MaxContent is how many bytes of content one attribute holds at most, its
	// JSON syntax not counted; 0 or less: 16 KiB.
	MaxContent int

	Now func() time.Time // for durations; nil: time.Now
}

// Defaults of [Options].
const (
	DefaultAgent      = "fettle"
	DefaultMaxContent = 16 << 10
)

// Telemetry tells providers what a conversation and its subagents do. It is an
// [agent.Observer], and [Telemetry.Call] is a [scheduler.Observe]; the two know
// of each other by the context, so that a call stands below the turn that asked
// for it, and a subagent's prompt below the call that started it. It is safe for
// concurrent use, starts no goroutine, and ends with nothing: flushing and
// shutting down is up to whoever made the providers.
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

// New returns a Telemetry. The error is of code invalid_config: Content without
// Mask, or a provider that refuses an instrument.
func New(o Options) (*Telemetry, error) {
	if o.Content && o.Mask == nil {
		return nil, fault.New(fault.InvalidConfig, "telemetry.new", "Content is to be recorded, and nothing takes secrets out of it.",
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
		return nil, fault.Wrap(fault.InvalidConfig, "telemetry.new", "The provider of metrics refuses an instrument.",
			"Check the views of the meter provider.", err)
	}
	return &Telemetry{o: o, m: m, tracer: o.TracerProvider.Tracer(scope, trace.WithInstrumentationVersion(o.Version))}, nil
}

// sessionID returns the session's name, and counts a session that is new.
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

// start begins a span of the kind internal.
func (t *Telemetry) start(ctx context.Context, name string) (context.Context, trace.Span) {
	return t.tracer.Start(ctx, name)
}

// set adds attributes, but for those that say nothing.
func set(span trace.Span, attributes ...attribute.KeyValue) {
	span.SetAttributes(told(attributes)...)
}

// told drops texts that are empty.
func told(attributes []attribute.KeyValue) []attribute.KeyValue {
	kept := attributes[:0]
	for _, a := range attributes {
		if a.Value.Type() != attribute.STRING || a.Value.AsString() != "" {
			kept = append(kept, a)
		}
	}
	return kept
}

// measured are attributes of a measurement.
func measured(attributes ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributes(told(attributes)...)
}
