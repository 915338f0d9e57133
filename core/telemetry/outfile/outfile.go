// Package outfile makes providers of telemetry that write to a file, as lines of
// JSON.
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

// Options say what is written where.
type Options struct {
	// Path is the file; required. It is made with the first line, for its owner
	// alone, and grows; its directory must exist. What is there and is no regular
	// file is not written to.
	Path string
	// Traces has spans written too. false: metrics alone.
	Traces bool
	// Resource says what the records are about, as service.name.
	Resource []attribute.KeyValue
	// Interval is how often metrics are written before the end; 0 or less: every
	// minute. Spans are written within five seconds of their end.
	Interval time.Duration
	// OnError is told once that records are lost, and why; a fault of code
	// file_write_failure, no_space_left, permission_denied, not_a_regular_file or
	// cancelled. It is called on a goroutine of the providers. nil: nobody is told.
	OnError func(error)
}

const defaultInterval = time.Minute

// Providers write to a file. What goes wrong with the file is told once, and of
// no consequence to whoever measures: nothing more is written then. They are safe
// for concurrent use.
type Providers struct {
	tracer trace.TracerProvider
	meter  metric.MeterProvider
	end    func(context.Context)

	file    *file
	onError func(error)
	mu      sync.Mutex
	failed  error
	done    chan struct{} // nil until somebody shuts down
}

// New returns providers, which must be shut down. It opens nothing yet. The
// error is of code invalid_config.
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
		return nil, unusable(err)
	}
	meter := sdkmetric.NewMeterProvider(sdkmetric.WithResource(about),
		sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metrics{numbers, p.tell}, sdkmetric.WithInterval(o.Interval))))
	p.meter = meter
	p.end = func(ctx context.Context) { p.tell(meter.Shutdown(ctx)) }
	if !o.Traces {
		return p, nil
	}
	lines, err := stdouttrace.New(stdouttrace.WithWriter(f))
	if err != nil {
		return nil, unusable(err)
	}
	tracer := sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithBatcher(spans{lines, p.tell}))
	p.tracer = tracer
	p.end = func(ctx context.Context) {
		p.tell(tracer.Shutdown(ctx))
		p.tell(meter.Shutdown(ctx))
	}
	return p, nil
}

func unusable(err error) error {
	return fault.Wrap(fault.InvalidConfig, "outfile.new", "The exporter of telemetry cannot be made.", "", err)
}

// TracerProvider returns the one of spans; it records none without Options.Traces.
func (p *Providers) TracerProvider() trace.TracerProvider { return p.tracer }

// MeterProvider returns the one of metrics.
func (p *Providers) MeterProvider() metric.MeterProvider { return p.meter }

// shutdownTime is how long the last records may take.
const shutdownTime = 3 * time.Second

// Shutdown writes what is left and closes the file. It takes three seconds at
// most, and ends with ctx; a write that the system holds up longer is left
// behind. It returns what OnError was told, or nil. A second call waits for the
// first and returns the same.
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
			p.tell(p.file.Close())
		}()
	}
	done := p.done
	p.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
		p.tell(ctx.Err())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// tell tells of the first failure.
func (p *Providers) tell(err error) {
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
		defer func() { _ = recover() }() // whose mistake must not end the program
		p.onError(f)
	}
}

// spans is an exporter whose failures are told instead of returned, so that the
// SDK does not print them.
type spans struct {
	sdktrace.SpanExporter
	tell func(error)
}

// ExportSpans writes spans, a line each.
func (s spans) ExportSpans(ctx context.Context, list []sdktrace.ReadOnlySpan) error {
	s.tell(s.SpanExporter.ExportSpans(ctx, list))
	return nil
}

// metrics is the same for metrics.
type metrics struct {
	sdkmetric.Exporter
	tell func(error)
}

// Export writes all metrics in one line.
func (m metrics) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	m.tell(m.Exporter.Export(ctx, all))
	return nil
}
