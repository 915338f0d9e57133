// Package otlp makes providers of telemetry that send to a collector over OTLP.
// It is a module of its own, so that nobody who does not use it links gRPC and
// protocol buffers.
package otlp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/fettle-dev/fettle/core/fault"
)

// Options say what is sent where. What is not set here may be set by
// OpenTelemetry's own variables, OTEL_EXPORTER_OTLP_….
type Options struct {
	// Endpoint is the collector's address, as http://localhost:4317, or https:// for
	// TLS; required. With ProtocolHTTP, /v1/traces and /v1/metrics follow its path.
	Endpoint string
	Protocol Protocol          // "": ProtocolGRPC
	Headers  map[string]string // sent with each request, as those that hold a key
	Resource []attribute.KeyValue
	// Interval is how often metrics are sent before the end; 0 or less: every
	// minute.
	Interval time.Duration
	// OnError is told once that records were not taken, and why, with no value of
	// a header in it; later ones are tried all the same. It is called on a
	// goroutine of the providers. nil: nobody is told.
	OnError func(error)
}

// Protocol is how a collector is spoken to.
type Protocol string

// The protocols.
const (
	ProtocolGRPC Protocol = "grpc"
	ProtocolHTTP Protocol = "http" // protocol buffers over HTTP
)

const defaultInterval = time.Minute

// Providers send to a collector. They are safe for concurrent use; a collector
// that is slow or away holds nobody up who measures, and what it does not take
// in time is dropped.
type Providers struct {
	tracer *sdktrace.TracerProvider
	meter  *sdkmetric.MeterProvider

	onError func(error)
	secret  []string // values of headers
	mu      sync.Mutex
	failed  error
}

// New returns providers, which must be shut down. Nothing is sent yet; ctx bounds
// New alone. The error is of code invalid_config.
func New(ctx context.Context, o Options) (*Providers, error) {
	to, err := parse(o)
	if err != nil {
		return nil, err
	}
	p := &Providers{onError: o.OnError}
	for _, value := range o.Headers {
		if value != "" {
			p.secret = append(p.secret, value)
		}
	}
	lines, err := to.spans(ctx)
	if err != nil {
		return nil, p.unusable(err)
	}
	numbers, err := to.metrics(ctx)
	if err != nil {
		return nil, errors.Join(p.unusable(err), lines.Shutdown(ctx))
	}
	if o.Interval <= 0 {
		o.Interval = defaultInterval
	}
	about := resource.NewSchemaless(o.Resource...)
	p.tracer = sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithBatcher(spans{lines, p.tell}))
	p.meter = sdkmetric.NewMeterProvider(sdkmetric.WithResource(about),
		sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metrics{numbers, p.tell}, sdkmetric.WithInterval(o.Interval))))
	return p, nil
}

func (p *Providers) unusable(err error) error {
	return fault.Wrap(fault.InvalidConfig, "otlp.new", "The exporter of telemetry cannot be made.", "Check the collector's address.", p.masked(err))
}

// TracerProvider returns the one of spans.
func (p *Providers) TracerProvider() trace.TracerProvider { return p.tracer }

// MeterProvider returns the one of metrics.
func (p *Providers) MeterProvider() metric.MeterProvider { return p.meter }

// shutdownTime is how long the last records may take.
const shutdownTime = 5 * time.Second

// Shutdown sends what is left and closes the connections, in five seconds at
// most and while ctx lasts. It returns what OnError was told, or nil.
func (p *Providers) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownTime)
	defer cancel()
	var both sync.WaitGroup
	both.Go(func() { p.tell(p.tracer.Shutdown(ctx)) })
	both.Go(func() { p.tell(p.meter.Shutdown(ctx)) })
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// tell tells of the first failure.
func (p *Providers) tell(err error) {
	if err == nil || errors.Is(err, sdkmetric.ErrReaderShutdown) {
		return
	}
	f := fault.Wrap(fault.ExecutionFailed, "otlp.send", "The collector did not take the telemetry.",
		"Check that it runs, and its address, protocol and headers.", p.masked(err))
	p.mu.Lock()
	first := p.failed == nil
	if first {
		p.failed = f
	}
	p.mu.Unlock()
	if first && p.onError != nil {
		defer func() { _ = recover() }() // whose mistake must not end the program
		p.onError(f)
	}
}

// masked returns the words of an error without values of headers, which a
// collector may repeat.
func (p *Providers) masked(err error) error {
	text := err.Error()
	for _, value := range p.secret {
		text = strings.ReplaceAll(text, value, "***")
	}
	return fmt.Errorf("%.1000s", text)
}

// spans is an exporter whose failures are told instead of returned, so that the
// SDK does not print them.
type spans struct {
	sdktrace.SpanExporter
	tell func(error)
}

// ExportSpans sends spans.
func (s spans) ExportSpans(ctx context.Context, list []sdktrace.ReadOnlySpan) error {
	s.tell(s.SpanExporter.ExportSpans(ctx, list))
	return nil
}

// metrics is the same for metrics.
type metrics struct {
	sdkmetric.Exporter
	tell func(error)
}

// Export sends all metrics.
func (m metrics) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	m.tell(m.Exporter.Export(ctx, all))
	return nil
}
