package telemetry_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/telemetry"
	"github.com/fettle-dev/fettle/core/tools"
)

// once returns functions that report one call or one request each time they run.
func once(t testing.TB, w *telemetry.Telemetry) map[string]func() {
	ctx, _ := w.Prompt(t.Context(), agent.PromptInfo{ID: "p", Model: "gemini-2.5-pro", Purpose: model.PurposeMain})
	request := &model.Request{Model: "gemini-2.5-pro"}
	answer := &model.Response{ID: "r", Model: "gemini-2.5-pro", Finish: model.FinishStop, Usage: model.Usage{Input: 1000, Output: 50}}
	good := scheduler.Response{CallID: "c", Tool: "read_file", Status: scheduler.StatusSuccess, Decision: policy.Decision{Explanation: confirmation.Explanation{Decision: policy.Allow, Tier: "default"}}}
	bad := good
	bad.Status, bad.Result = scheduler.StatusError, tools.Fail(fault.New(fault.FileNotFound, "op", "It is not there.", ""))
	called := func(resp scheduler.Response) func() {
		return func() {
			_, end := w.Call(ctx, scheduler.Request{CallID: "c", Tool: "read_file"})
			end(resp)
		}
	}
	return map[string]func(){
		"call":        called(good),
		"call failed": called(bad),
		"request": func() {
			_, end := w.Request(ctx, agent.RequestInfo{Request: request, Attempt: 1})
			end(agent.RequestEnd{Response: answer})
		},
	}
}

// BenchmarkTelemetry measures the overhead of one call, and of one request with its turn.
func BenchmarkTelemetry(b *testing.B) {
	nothing, err := telemetry.New(telemetry.Options{})
	require.NoError(b, err)
	for name, w := range map[string]*telemetry.Telemetry{"nobody": nothing, "sdk": watchNothing(b)} {
		for operation, run := range once(b, w) {
			b.Run(name+"/"+operation, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					run()
				}
			})
		}
	}
}

// Without providers the overhead of a call or a request is negligible.
func TestOverhead(t *testing.T) {
	nothing, err := telemetry.New(telemetry.Options{})
	require.NoError(t, err)
	for operation, run := range once(t, nothing) {
		require.LessOrEqual(t, testing.AllocsPerRun(100, run), 12.0, operation)
	}
}

// watchNothing returns a Telemetry that reports to the SDK, which drops completed spans.
func watchNothing(b *testing.B) *telemetry.Telemetry {
	w, err := telemetry.New(telemetry.Options{TracerProvider: sdktrace.NewTracerProvider(), MeterProvider: sdkmetric.NewMeterProvider(
		sdkmetric.WithReader(sdkmetric.NewManualReader()))})
	require.NoError(b, err)
	return w
}
