// Package otlp creates telemetry providers that send to a collector over OTLP. It is
// a separate module, so that only its users link gRPC and protocol buffers.
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

// Options configure the providers. Unset options may be set by the variables of
// OpenTelemetry, OTEL_EXPORTER_OTLP_….
type Options struct {
	// Endpoint is the collector's address, such as http://localhost:4317, or https://
	// for TLS; required. With ProtocolHTTP, /v1/traces and /v1/metrics are appended
	// to its path.
	Endpoint string
	Protocol Protocol          // "": ProtocolGRPC
	Headers  map[string]string // sent with each request, such as an API key
	Resource []attribute.KeyValue
	// Interval is the interval at which metrics are sent; 0 or less: one minute. They
	// are also sent at the end.
	Interval time.Duration
	// OnError is called once if records could not be sent, with an error that
	// contains no header value; later records are still sent. It is called on a
	// goroutine of the providers. nil: errors are not reported.
	OnError func(error)
}

// Protocol is the transport protocol of a collector.
type Protocol string

// The protocols.
const (
	ProtocolGRPC Protocol = "grpc"
	ProtocolHTTP Protocol = "http" // protocol buffers over HTTP
)

const defaultInterval = time.Minute

// Providers send to a collector. They are safe for concurrent use. A slow or
// unreachable collector does not block the instrumented code; records that it does
// not accept in time are dropped.
type Providers struct {
	tracer *sdktrace.TracerProvider
	meter  *sdkmetric.MeterProvider

	onError func(error)
	secret  []string // values of headers
	mu      sync.Mutex
	failed  error
}

// New returns providers, which must be shut down. It sends nothing; ctx applies to
// New only. The error has code invalid_config.
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
	p.tracer = sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithBatcher(spans{lines, p.report}))
	p.meter = sdkmetric.NewMeterProvider(sdkmetric.WithResource(about),
		sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metrics{numbers, p.report}, sdkmetric.WithInterval(o.Interval))))
	return p, nil
}

func (p *Providers) unusable(err error) error {
	return fault.Wrap(fault.InvalidConfig, "otlp.new", "The telemetry exporter cannot be created.", "Check the collector's address.", p.masked(err))
}

// TracerProvider returns the provider of spans.
func (p *Providers) TracerProvider() trace.TracerProvider { return p.tracer }

// MeterProvider returns the provider of metrics.
func (p *Providers) MeterProvider() metric.MeterProvider { return p.meter }

// shutdownTime is the time limit for sending the last records.
const shutdownTime = 5 * time.Second

// Shutdown sends the remaining records and closes the connections, within five
// seconds and the deadline of ctx. It returns the error that OnError received, or
// nil.
func (p *Providers) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownTime)
	defer cancel()
	var both sync.WaitGroup
	both.Go(func() { p.report(p.tracer.Shutdown(ctx)) })
	both.Go(func() { p.report(p.meter.Shutdown(ctx)) })
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// report passes the first failure to OnError.
func (p *Providers) report(err error) {
	if err == nil || errors.Is(err, sdkmetric.ErrReaderShutdown) {
		return
	}
	f := fault.Wrap(fault.ExecutionFailed, "otlp.send", "The collector did not accept the telemetry.",
		"Check that it is running, and its address, protocol and headers.", p.masked(err))
	p.mu.Lock()
	first := p.failed == nil
	if first {
		p.failed = f
	}
	p.mu.Unlock()
	if first && p.onError != nil {
		defer func() { _ = recover() }() // a panic in it must not end the program
		p.onError(f)
	}
}

// masked returns an error without the values of headers, which a collector may
// repeat.
func (p *Providers) masked(err error) error {
	text := err.Error()
	for _, value := range p.secret {
		text = strings.ReplaceAll(text, value, "***")
	}
	return fmt.Errorf("%.1000s", text)
}

// spans is an exporter whose failures are reported instead of returned, so that the
// SDK does not print them.
type spans struct {
	sdktrace.SpanExporter
	report func(error)
}

// ExportSpans sends spans.
func (s spans) ExportSpans(ctx context.Context, list []sdktrace.ReadOnlySpan) error {
	s.report(s.SpanExporter.ExportSpans(ctx, list))
	return nil
}

// metrics does the same for metrics.
type metrics struct {
	sdkmetric.Exporter
	report func(error)
}

// Export sends all metrics.
func (m metrics) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	m.report(m.Exporter.Export(ctx, all))
	return nil
}
