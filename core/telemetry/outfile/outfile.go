// Package outfile provides OpenTelemetry providers that write to a file, as lines of JSON.
package outfile

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	notrace "go.opentelemetry.io/otel/trace/noop"

	"github.com/fettle-dev/fettle/core/fault"
)

// Options configures [Providers].
type Options struct {
	// Path is the file; required. It is created with the first line, readable only by its owner;
	// later lines are appended. Its directory must exist. An existing file that is not regular is
	// not written to.
	Path string
	// Traces enables spans. false: only metrics are written.
	Traces bool
	// Resource describes the source of the records, e.g. by service.name.
	Resource []attribute.KeyValue
	// Interval is the time between two writes of the metrics; 0 or less: one minute. Spans are
	// written within five seconds after their end.
	Interval time.Duration
	// OnError is called once when records are lost, with the reason: a fault of code
	// file_write_failure, no_space_left, permission_denied, not_a_regular_file or cancelled. It is
	// called on a goroutine of the providers. nil: errors are ignored.
	OnError func(error)
}

const defaultInterval = time.Minute

// Providers write to a file. The first error of the file is reported once; after it, nothing is
// written, and measuring continues without effect. Providers are safe for concurrent use.
type Providers struct {
	tracer trace.TracerProvider
	meter  metric.MeterProvider
	end    func(context.Context)

	file    *file
	onError func(error)
	mu      sync.Mutex
	failed  error
	done    chan struct{} // nil until the first Shutdown
}

// New returns providers, which must be shut down. It opens no file yet. The error is of code
// invalid_config.
func New(o Options) (*Providers, error) {
	if o.Path == "" {
		return nil, fault.New(fault.InvalidConfig, "outfile.new", "There is no file for telemetry.", "Name one in the setting telemetry.outfile.")
	}
	return newProviders(o, &file{path: o.Path, open: openFile})
}

func newProviders(o Options, f *file) (*Providers, error) {
	if o.Interval <= 0 {
		o.Interval = defaultInterval
	}
	p := &Providers{tracer: notrace.NewTracerProvider(), file: f, onError: o.OnError}
	about := resource.NewSchemaless(o.Resource...)
	numbers, err := stdoutmetric.New(stdoutmetric.WithWriter(f))
	if err != nil {
		return nil, exporterError(err)
	}
	meter := sdkmetric.NewMeterProvider(sdkmetric.WithResource(about),
		sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metrics{numbers, p.report}, sdkmetric.WithInterval(o.Interval))))
	p.meter = meter
	p.end = func(ctx context.Context) { p.report(meter.Shutdown(ctx)) }
	if !o.Traces {
		return p, nil
	}
	lines, err := stdouttrace.New(stdouttrace.WithWriter(f))
	if err != nil {
		return nil, exporterError(err)
	}
	tracer := sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithBatcher(spans{lines, p.report}))
	p.tracer = tracer
	p.end = func(ctx context.Context) {
		p.report(tracer.Shutdown(ctx))
		p.report(meter.Shutdown(ctx))
	}
	return p, nil
}

func exporterError(err error) error {
	return fault.Wrap(fault.InvalidConfig, "outfile.new", "The exporter of telemetry cannot be created.", "", err)
}

// TracerProvider returns the provider of spans; it records none without Options.Traces.
func (p *Providers) TracerProvider() trace.TracerProvider { return p.tracer }

// MeterProvider returns the provider of metrics.
func (p *Providers) MeterProvider() metric.MeterProvider { return p.meter }

// shutdownTime is the time limit for the last records.
const shutdownTime = 3 * time.Second

// Shutdown writes the pending records and closes the file. It takes at most three seconds, and ends
// with ctx; a write that blocks longer is abandoned. It returns the error that OnError received, or
// nil. A second call waits for the first and returns the same.
func (p *Providers) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownTime)
	defer cancel()
	p.mu.Lock()
	if p.done == nil {
		done := make(chan struct{})
		p.done = done
		go func() {
			defer close(done)
			p.end(ctx)
			p.report(p.file.Close())
		}()
	}
	done := p.done
	p.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
		p.report(ctx.Err())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// report reports the first failure.
func (p *Providers) report(err error) {
	if err == nil {
		return
	}
	f := fault.As(err)
	if f == nil {
		f = fault.Wrap(fault.FileWriteFailure, "outfile.write", "Telemetry could not be written.", "", err)
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			f = fault.Wrap(fault.Cancelled, "outfile.write", "Telemetry could not be written in time, and is incomplete.", "", err)
		}
	}
	p.mu.Lock()
	first := p.failed == nil
	if first {
		p.failed = f
	}
	p.mu.Unlock()
	if first && p.onError != nil {
		defer func() { _ = recover() }() // a panic of the callback must not end the program
		p.onError(f)
	}
}

// spans is an exporter that reports its failures instead of returning them, so that the SDK does
// not print them.
type spans struct {
	sdktrace.SpanExporter
	report func(error)
}

// ExportSpans writes each span as a line.
func (s spans) ExportSpans(ctx context.Context, list []sdktrace.ReadOnlySpan) error {
	s.report(s.SpanExporter.ExportSpans(ctx, list))
	return nil
}

// metrics is the same for metrics.
type metrics struct {
	sdkmetric.Exporter
	report func(error)
}

// Export writes all metrics as one line.
func (m metrics) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	m.report(m.Exporter.Export(ctx, all))
	return nil
}
