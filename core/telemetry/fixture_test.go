package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/script"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/telemetry"
	"github.com/fettle-dev/fettle/core/tools"
)

// watched is a Telemetry with providers that keep all records.
type watched struct {
	*telemetry.Telemetry
	spans   *tracetest.SpanRecorder
	numbers *sdkmetric.ManualReader
}

func watch(t testing.TB, set ...func(o *telemetry.Options)) *watched {
	t.Helper()
	w := &watched{spans: tracetest.NewSpanRecorder(), numbers: sdkmetric.NewManualReader()}
	o := telemetry.Options{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(w.spans)),
		MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(w.numbers)),
		SessionID:      func() string { return "session-1" },
	}
	for _, f := range set {
		f(&o)
	}
	var err error
	w.Telemetry, err = telemetry.New(o)
	require.NoError(t, err)
	return w
}

// tree returns all completed spans as lines below their parents, with calls after other children:
// name, status if any, and attributes. Attributes that vary, or contain the text of a tool, are
// omitted.
func (w *watched) tree() []string {
	below := map[trace.SpanID][]sdktrace.ReadOnlySpan{}
	for _, s := range w.spans.Ended() {
		below[s.Parent().SpanID()] = append(below[s.Parent().SpanID()], s)
	}
	var lines []string
	var walk func(of trace.SpanID, indent string)
	walk = func(of trace.SpanID, indent string) {
		list := below[of]
		slices.SortStableFunc(list, func(a, b sdktrace.ReadOnlySpan) int {
			if one, other := attr(a, "gen_ai.tool.call.id"), attr(b, "gen_ai.tool.call.id"); one != other { // calls run concurrently
				return strings.Compare(one, other)
			}
			return a.StartTime().Compare(b.StartTime())
		})
		for _, s := range list {
			lines = append(lines, indent+outline(s))
			walk(s.SpanContext().SpanID(), indent+"  ")
		}
	}
	walk(trace.SpanID{}, "")
	return lines
}

func outline(s sdktrace.ReadOnlySpan) string {
	line := s.Name()
	if s.SpanKind() != trace.SpanKindInternal {
		line += " (" + s.SpanKind().String() + ")"
	}
	if s.Status().Code == codes.Error {
		line += " failed: " + s.Status().Description
	}
	var list []string
	for _, a := range s.Attributes() {
		if a.Key != "fettle.prompt.id" && a.Key != "fettle.tools.declared_bytes" {
			list = append(list, fmt.Sprintf("%s=%s", a.Key, a.Value.String()))
		}
	}
	slices.Sort(list)
	return line + " | " + strings.Join(list, " ")
}

// named returns the only completed span with a name.
func (w *watched) named(t *testing.T, name string) sdktrace.ReadOnlySpan {
	t.Helper()
	var found []sdktrace.ReadOnlySpan
	for _, s := range w.spans.Ended() {
		if s.Name() == name {
			found = append(found, s)
		}
	}
	require.Len(t, found, 1, "spans of the name %s", name)
	return found[0]
}

// attr returns a text attribute of a span, or "".
func attr(s sdktrace.ReadOnlySpan, key string) string {
	for _, a := range s.Attributes() {
		if string(a.Key) == key {
			return a.Value.String()
		}
	}
	return ""
}

// collected returns the metrics by name.
func (w *watched) collected(t testing.TB) map[string]metricdata.Metrics {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, w.numbers.Collect(t.Context(), &all))
	found := map[string]metricdata.Metrics{}
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			found[m.Name] = m
		}
	}
	return found
}

// points lists the data points of a metric as "attributes: count" or, for a histogram of numbers,
// "attributes: count of sum". Seconds are omitted.
func points(m metricdata.Metrics) []string {
	var list []string
	add := func(set attribute.Set, value string) {
		var by []string
		for _, a := range set.ToSlice() {
			by = append(by, string(a.Key)+"="+a.Value.String())
		}
		list = append(list, strings.Join(by, " ")+": "+value)
	}
	switch d := m.Data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, fmt.Sprint(p.Value))
		}
	case metricdata.Histogram[int64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, fmt.Sprintf("%d of %d", p.Count, p.Sum))
		}
	case metricdata.Histogram[float64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, fmt.Sprint(p.Count))
		}
	}
	slices.Sort(list)
	return list
}

// exported returns all records, as the exporters write them.
func (w *watched) exported(t *testing.T) string {
	t.Helper()
	var text bytes.Buffer
	lines, err := stdouttrace.New(stdouttrace.WithWriter(&text))
	require.NoError(t, err)
	require.NoError(t, lines.ExportSpans(t.Context(), w.spans.Ended()))
	numbers, err := stdoutmetric.New(stdoutmetric.WithWriter(&text))
	require.NoError(t, err)
	var all metricdata.ResourceMetrics
	require.NoError(t, w.numbers.Collect(t.Context(), &all))
	require.NoError(t, numbers.Export(t.Context(), &all))
	return text.String()
}

// play returns a model that plays a script.
func play(t testing.TB, turns string) model.Generator {
	t.Helper()
	s, err := script.Parse("test.json", []byte(`{"turns": [`+turns+`]}`))
	require.NoError(t, err)
	return script.New(s, script.Options{})
}

// The content of a conversation that must not be recorded.
const (
	secretPrompt = "the prompt's own words"
	secretSystem = "the rules of the house"
	secretArg    = "argument-of-the-call"
	secretFile   = "content of the file"
	secretAnswer = "the final answer"
	secretError  = "what went wrong in detail"
	secretKey    = `sk-"quoted"-0123456789`
)

// path is the parameter of the tools of tests.
type path struct {
	FilePath string `json:"file_path"`
}

func define(t testing.TB, name string, kind tools.Kind, run func(ctx context.Context, p path) (tools.Result, error)) tools.DeclarativeTool {
	t.Helper()
	tool, err := tools.Define(name, "A tool of the test "+name+".", kind, run, tools.WithParallel())
	require.NoError(t, err)
	return tool
}

// someTools returns three tools: one reads, one fails, one would write.
func someTools(t testing.TB) []tools.DeclarativeTool {
	return []tools.DeclarativeTool{
		define(t, "read_file", tools.KindRead, func(_ context.Context, p path) (tools.Result, error) {
			content, err := tools.JSON(map[string]any{"file_path": p.FilePath, "content": secretFile + "\n" + secretKey})
			return tools.Result{LLMContent: content}, err
		}),
		define(t, "break", tools.KindRead, func(context.Context, path) (tools.Result, error) {
			return tools.Fail(fault.New(fault.FileChangedSinceRead, "x", secretError+" "+secretKey, "").Because(fault.Changed)), nil
		}),
		define(t, "write_file", tools.KindEdit, func(context.Context, path) (tools.Result, error) { return tools.Result{}, nil }),
	}
}

func registry(t testing.TB, all ...tools.DeclarativeTool) *tools.Registry {
	t.Helper()
	r := tools.NewRegistry(tools.RegistryOptions{})
	for _, tool := range all {
		require.NoError(t, r.Register(tool))
	}
	return r
}

// client returns a conversation that w observes.
func (w *watched) client(t testing.TB, g model.Generator, r *tools.Registry, set ...func(o *agent.Options)) *agent.Client {
	t.Helper()
	o := w.options(g, r)
	for _, f := range set {
		f(&o)
	}
	c, err := agent.New(o)
	require.NoError(t, err)
	return c
}

func (w *watched) options(g model.Generator, r *tools.Registry) agent.Options {
	return agent.Options{
		Source: model.Always(g), Model: func() string { return "script:demo" },
		Scheduler: scheduler.New(scheduler.Options{Tools: r, Observe: []scheduler.Observe{w.Call}}),
		System:    func(context.Context) (string, error) { return secretSystem, nil },
		Observer:  w, Retry: agent.Retry{First: time.Nanosecond, StreamFirst: time.Nanosecond},
	}
}

// host creates the sessions of subagents.
type host struct {
	w     *watched
	t     testing.TB
	model model.Generator
	tools []tools.DeclarativeTool
}

// Begin creates the session of a run.
func (h *host) Begin(context.Context, *subagent.Definition) (*subagent.Session, error) {
	r := registry(h.t, h.tools...)
	return &subagent.Session{Agent: h.w.options(h.model, r), Registry: r}, nil
}

// helper returns the tool of a subagent.
func (w *watched) helper(t testing.TB, turns string) tools.DeclarativeTool {
	t.Helper()
	h := &host{w: w, t: t, model: play(t, turns), tools: someTools(t)}
	tool, err := subagent.NewRunner(subagent.Options{Host: h}).Tool(subagent.Definition{
		Name: "helper", Description: "Helps.", Prompt: "You help. " + secretSystem, Tools: []string{"read_file"},
	})
	require.NoError(t, err)
	return tool
}

func ask(ctx context.Context, c *agent.Client, text string) agent.Event {
	var last agent.Event
	for e := range c.Run(ctx, model.TextPart(text)) {
		last = e
	}
	return last
}

// conversation runs the conversation of most tests:
//
//   - two calls, one of which fails
//   - a request that fails once and then calls a subagent, which reads a file
//   - a denied write and an unknown tool
//   - the final answer
func conversation(t testing.TB, w *watched) agent.Event {
	t.Helper()
	args, err := json.Marshal(path{secretArg + " " + secretKey})
	require.NoError(t, err)
	call := func(id, tool string) string { return fmt.Sprintf(`{"id": %q, "tool": %q, "args": %s}`, id, tool, args) }
	usage := `"usage": {"input": 100, "output": 20, "thoughts": 5, "cached": 60}`
	g := play(t, strings.Join([]string{
		`{"text": "First.", "calls": [` + call("c1", "read_file") + `, ` + call("c2", "break") + `], ` + usage + `}`,
		`{"fail": {"kind": "rate_limited", "status": 429, "message": "` + secretError + `"}}`,
		`{"calls": [{"id": "c3", "tool": "helper", "args": {"query": "` + secretPrompt + `"}}], ` + usage + `}`,
		`{"calls": [` + call("c4", "write_file") + `, ` + call("c5", "made_up") + `], ` + usage + `}`,
		`{"text": "` + secretAnswer + `", ` + usage + `}`,
	}, ","))
	helper := w.helper(t, `{"calls": [`+call("h1", "read_file")+`], `+usage+`},
		{"calls": [{"tool": "complete_task", "args": {"result": "`+secretAnswer+`"}}], `+usage+`}`)
	r := registry(t, append(someTools(t), helper)...)
	return ask(t.Context(), w.client(t, g, r), secretPrompt+" "+secretKey)
}

// mask replaces the key.
func mask(text string) string { return strings.ReplaceAll(text, secretKey, "***") }

// gate lets n goroutines meet.
type gate struct{ sync.WaitGroup }

func meeting(n int) *gate {
	g := &gate{}
	g.Add(n)
	return g
}

func (g *gate) meet() {
	g.Done()
	g.Wait()
}
