package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/telemetry"
	"github.com/fettle-dev/fettle/core/tools"
)

// A complete conversation with a subagent: every span, its position and every attribute.
func TestTree(t *testing.T) {
	w := watch(t)
	require.Equal(t, agent.EventDone, conversation(t, w).Type)
	const (
		tokens   = " gen_ai.usage.cache_read.input_tokens=60 gen_ai.usage.input_tokens=100 gen_ai.usage.output_tokens=25 gen_ai.usage.reasoning.output_tokens=5"
		asked    = " gen_ai.conversation.id=session-1 gen_ai.operation.name=chat gen_ai.provider.name=script gen_ai.request.model=demo gen_ai.request.stream=true"
		answered = asked + ` gen_ai.response.finish_reasons=["stop"] gen_ai.response.model=demo` + tokens
		prompt   = " gen_ai.conversation.id=session-1 gen_ai.operation.name=invoke_agent gen_ai.provider.name=script gen_ai.request.model=demo"
		allowed  = "fettle.decision.source=built-in fettle.decision.tier=default fettle.decision.verdict=allow"
		known    = " fettle.tools.declared=0 fettle.tools.deferred=0"
		tool     = " gen_ai.operation.name=execute_tool gen_ai.tool.call.id=%s gen_ai.tool.name=%s gen_ai.tool.type=function"

		knownToHelper = " fettle.tools.declared=2 fettle.tools.deferred=0"
	)
	call := func(id, name string) string { return fmt.Sprintf(tool, id, name) }
	require.Equal(t, []string{
		"invoke_agent fettle | fettle.prompt.calls=5 fettle.prompt.turns=4 fettle.purpose=main gen_ai.agent.name=fettle" + prompt +
			" gen_ai.usage.cache_read.input_tokens=240 gen_ai.usage.input_tokens=400 gen_ai.usage.output_tokens=100 gen_ai.usage.reasoning.output_tokens=20",
		"  turn | fettle.turn.number=1 gen_ai.agent.name=fettle",
		"    chat demo (client) | fettle.attempt=1 fettle.purpose=main" + known + answered,
		"    execute_tool read_file | " + allowed + " fettle.tool.status=success" + call("c1", "read_file"),
		"    execute_tool break failed: file_changed_since_read | error.type=file_changed_since_read " + allowed +
			" fettle.error.reason=changed fettle.tool.status=error" + call("c2", "break"),
		"  turn | fettle.turn.number=2 gen_ai.agent.name=fettle",
		"    chat demo (client) failed: model_error | error.type=model_error fettle.attempt=1 fettle.error.reason=rate_limited fettle.purpose=main" + known +
			asked + " http.response.status_code=429",
		"    chat demo (client) | fettle.attempt=2 fettle.purpose=main" + known + answered,
		"    execute_tool helper | " + allowed + " fettle.tool.status=success" + call("c3", "helper"),
		"      invoke_agent helper | fettle.prompt.calls=2 fettle.prompt.turns=2 fettle.purpose=subagent gen_ai.agent.name=helper" + prompt +
			" gen_ai.usage.cache_read.input_tokens=120 gen_ai.usage.input_tokens=200 gen_ai.usage.output_tokens=50 gen_ai.usage.reasoning.output_tokens=10",
		"        turn | fettle.turn.number=1 gen_ai.agent.name=helper",
		"          chat demo (client) | fettle.attempt=1 fettle.purpose=subagent" + knownToHelper + answered,
		"          execute_tool read_file | " + allowed + " fettle.tool.status=success" + call("h1", "read_file"),
		"        turn | fettle.turn.number=2 gen_ai.agent.name=helper",
		"          chat demo (client) | fettle.attempt=1 fettle.purpose=subagent" + knownToHelper + answered,
		"  turn | fettle.turn.number=3 gen_ai.agent.name=fettle",
		"    chat demo (client) | fettle.attempt=1 fettle.purpose=main" + known + answered,
		"    execute_tool write_file failed: nobody_to_ask | error.type=nobody_to_ask " + strings.Replace(allowed, "allow", "ask_user", 1) +
			" fettle.tool.status=denied" + call("c4", "write_file"),
		"    execute_tool made_up failed: tool_not_registered | error.type=tool_not_registered fettle.tool.status=error" + call("c5", "made_up"),
		"  turn | fettle.turn.number=4 gen_ai.agent.name=fettle",
		"    chat demo (client) | fettle.attempt=1 fettle.purpose=main" + known + answered,
	}, w.tree())
	for _, s := range w.spans.Ended() {
		if strings.HasPrefix(s.Name(), "invoke_agent") {
			require.NotEmpty(t, attr(s, "fettle.prompt.id"))
		}
		require.False(t, s.EndTime().Before(s.StartTime()))
	}
}

// A request records the size of its tool declarations and the number of deferred tools.
func TestDeclarations(t *testing.T) {
	w := watch(t)
	_, end := w.Request(t.Context(), agent.RequestInfo{Attempt: 1, Request: &model.Request{
		Model: "demo", Deferred: 7, Tools: []model.Tool{{Name: "a", Description: "bc", Parameters: []byte("{}")}, {Name: "b"}},
	}})
	end(agent.RequestEnd{})
	s := w.named(t, "chat demo")
	for key, want := range map[string]string{"declared": "2", "declared_bytes": "6", "deferred": "7"} {
		require.Equal(t, want, attr(s, "fettle.tools."+key), key)
	}
}

// The metrics of the same conversation.
func TestMetrics(t *testing.T) {
	w := watch(t)
	conversation(t, w)
	const (
		asked  = "gen_ai.operation.name=chat gen_ai.provider.name=script gen_ai.request.model=demo"
		answer = asked + " gen_ai.response.model=demo"
		ok     = "fettle.decision.tier=default fettle.decision.verdict=allow fettle.tool.status=success gen_ai.tool.name="
	)
	calls := []string{
		"error.type=file_changed_since_read fettle.tool.status=error gen_ai.tool.name=break: 1",
		"error.type=nobody_to_ask fettle.tool.status=denied gen_ai.tool.name=write_file: 1",
		"error.type=tool_not_registered fettle.tool.status=error gen_ai.tool.name=_OTHER: 1", // the name is model output
		"fettle.tool.status=success gen_ai.tool.name=helper: 1",
		"fettle.tool.status=success gen_ai.tool.name=read_file: 2",
	}
	want := map[string][]string{
		"gen_ai.client.token.usage": {answer + " gen_ai.token.type=input: 6 of 600", answer + " gen_ai.token.type=output: 6 of 150"},
		"gen_ai.client.operation.duration": {
			"error.type=model_error fettle.error.reason=rate_limited " + asked + ": 1", answer + ": 6",
		},
		"fettle.session.count":   {": 1"},
		"fettle.prompt.duration": {"fettle.purpose=main gen_ai.agent.name=fettle: 1", "fettle.purpose=subagent gen_ai.agent.name=helper: 1"},
		"fettle.turn.duration":   {"gen_ai.agent.name=fettle: 4", "gen_ai.agent.name=helper: 2"},
		"fettle.retry.count": {
			"error.type=model_error fettle.error.reason=rate_limited gen_ai.provider.name=script gen_ai.request.model=demo: 1",
		},
		"fettle.tool.call.count":    calls,
		"fettle.tool.call.duration": calls,
		"fettle.decision.count": {
			"fettle.decision.tier=default fettle.decision.verdict=allow fettle.tool.status=error gen_ai.tool.name=break: 1",
			ok + "helper: 1", ok + "read_file: 2",
			"fettle.decision.tier=default fettle.decision.verdict=ask_user fettle.tool.status=denied gen_ai.tool.name=write_file: 1",
		},
		"fettle.agent.run.count":    {"gen_ai.agent.name=helper: 1"},
		"fettle.agent.run.duration": {"gen_ai.agent.name=helper: 1"},
	}
	got := map[string][]string{}
	for name, m := range w.collected(t) {
		got[name] = points(m)
	}
	require.Equal(t, want, got)
}

// A session is counted once, with its first prompt.
func TestSessions(t *testing.T) {
	id := "a"
	w := watch(t, func(o *telemetry.Options) { o.SessionID = func() string { return id } })
	require.NotContains(t, w.collected(t), "fettle.session.count")
	c := w.client(t, play(t, `{"text": "Hi.", "repeat": "forever"}`), registry(t))
	for _, id = range []string{"a", "a", "b"} {
		ask(t.Context(), c, "Hello.")
	}
	require.Equal(t, []string{": 2"}, points(w.collected(t)["fettle.session.count"]))
}

// The records of prompts, requests and calls that fail.
func TestFailures(t *testing.T) {
	call := `"calls": [{"id": "c1", "tool": "wait", "args": {"file_path": "x"}}]`
	tests := map[string]struct {
		turns  string
		cancel string // source of the cancellation: the tool, or the receiver of the text
		last   agent.EventType
		want   map[string]string // span: error.type
	}{
		"a model that fails": {`{"fail": {"kind": "unauthenticated", "status": 401}}`, "", agent.EventError,
			map[string]string{"invoke_agent fettle": "model_error", "turn": "model_error", "chat demo": "model_error"}},
		"an answer of no use": {`{"empty": true, "repeat": "forever"}`, "", agent.EventInvalidStream,
			map[string]string{"invoke_agent fettle": "invalid_stream", "turn": "", "chat demo": ""}},
		"cancelled in an answer": {`{"text": "So."}`, "text", agent.EventCancelled,
			map[string]string{"invoke_agent fettle": "cancelled", "turn": "cancelled", "chat demo": "cancelled"}},
		"cancelled in a call": {`{` + call + `}`, "tool", agent.EventCancelled,
			map[string]string{"invoke_agent fettle": "cancelled", "turn": "", "chat demo": "", "execute_tool wait": "cancelled"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := watch(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			wait := define(t, "wait", tools.KindRead, func(ctx context.Context, _ path) (tools.Result, error) {
				cancel()
				<-ctx.Done()
				return tools.Result{}, ctx.Err()
			})
			c := w.client(t, play(t, tt.turns), registry(t, wait))
			var last agent.Event
			for last = range c.Run(ctx, model.TextPart("Go.")) {
				if last.Type == agent.EventText && tt.cancel == "text" {
					cancel()
				}
			}
			require.Equal(t, tt.last, last.Type)
			got := map[string]string{}
			for _, s := range w.spans.Ended() {
				got[s.Name()] = attr(s, "error.type")
				require.Equal(t, got[s.Name()] != "", s.Status().Code == codes.Error, s.Name())
			}
			require.Equal(t, tt.want, got)
			require.Len(t, w.spans.Started(), len(w.spans.Ended()))
			if tt.last == agent.EventInvalidStream {
				require.Equal(t, []string{"error.type=invalid_stream gen_ai.provider.name=script gen_ai.request.model=demo: 3"},
					points(w.collected(t)["fettle.retry.count"]))
			}
		})
	}
}

// shorten is a compactor with a fixed result.
type shorten struct {
	result agent.Compaction
	err    error
}

func (s shorten) Compact(_ context.Context, r agent.CompactRequest) (agent.Compaction, error) {
	s.result.History = r.History
	return s.result, s.err
}

func TestCompaction(t *testing.T) {
	w := watch(t)
	c := w.client(t, play(t, `{"text": "Hi.", "repeat": "forever"}`), registry(t), func(o *agent.Options) {
		o.Limits.CompactAt = 1e-9
		o.Compactor = shorten{result: agent.Compaction{Status: agent.Compacted, Before: 90, After: 10, Usage: model.Usage{Input: 70, Output: 9}}}
	})
	ask(t.Context(), c, "Hello.")
	ask(t.Context(), c, "Hello again.")
	tree := strings.Join(w.tree(), "\n")
	require.Contains(t, tree, "\n  compact | fettle.compaction.forced=false fettle.compaction.status=compacted fettle.compaction.tokens_after=10 "+
		"fettle.compaction.tokens_before=90 gen_ai.usage.input_tokens=70 gen_ai.usage.output_tokens=9\n  turn")
	require.Equal(t, []string{"fettle.compaction.forced=false fettle.compaction.status=compacted: 1"}, points(w.collected(t)["fettle.compaction.count"]))
	require.Contains(t, points(w.collected(t)["gen_ai.client.token.usage"]),
		"gen_ai.operation.name=chat gen_ai.provider.name=script gen_ai.request.model=demo gen_ai.token.type=input: 1 of 70")

	failing := w.client(t, play(t, `{"text": "Hi."}`), registry(t), func(o *agent.Options) {
		o.Compactor = shorten{err: errors.New(secretError)}
		o.History = []model.Content{model.UserText("a"), {Role: model.RoleModel, Parts: []model.Part{model.TextPart("b")}}}
	})
	_, err := failing.Compress(t.Context(), true)
	require.Error(t, err)
	require.Contains(t, strings.Join(w.tree(), "\n"), "compact failed: unknown | error.type=unknown fettle.compaction.forced=true")
	require.NotContains(t, w.exported(t), secretError)
}

// Concurrent sessions with concurrent calls: every call is a child of its own turn, and no span is
// missing.
func TestConcurrent(t *testing.T) {
	const sessions, calls = 8, 4
	w := watch(t)
	var all sync.WaitGroup
	for n := range sessions {
		together := meeting(calls)
		look := define(t, "look", tools.KindRead, func(context.Context, path) (tools.Result, error) {
			together.meet()
			return tools.Result{LLMContent: tools.Text("x")}, nil
		})
		var list []string
		for i := range calls {
			list = append(list, fmt.Sprintf(`{"id": "%d-%d", "tool": "look", "args": {"file_path": "x"}}`, n, i))
		}
		c := w.client(t, play(t, `{"calls": [`+strings.Join(list, ",")+`]}, {"text": "Done."}`), registry(t, look))
		all.Go(func() { ask(t.Context(), c, "Go.") })
	}
	all.Wait()
	turns := map[string]string{} // span: prompt
	for _, s := range w.spans.Ended() {
		if s.Name() == "turn" && attr(s, "fettle.turn.number") == "1" {
			turns[s.SpanContext().SpanID().String()] = ""
		}
	}
	require.Len(t, turns, sessions)
	seen := 0
	for _, s := range w.spans.Ended() {
		if s.Name() != "execute_tool look" {
			continue
		}
		seen++
		session, _, _ := strings.Cut(attr(s, "gen_ai.tool.call.id"), "-")
		turn := s.Parent().SpanID().String()
		require.Contains(t, turns, turn)
		require.Contains(t, []string{"", session}, turns[turn])
		turns[turn] = session
	}
	require.Equal(t, sessions*calls, seen)
	require.Equal(t, []string{fmt.Sprintf("fettle.tool.status=success gen_ai.tool.name=look: %d", sessions*calls)}, points(w.collected(t)["fettle.tool.call.count"]))
}

// A model that invents names creates neither long names nor metrics.
func TestHostileNames(t *testing.T) {
	w := watch(t)
	for _, name := range []string{"", strings.Repeat("a", 10_000), "two words", "a\nb", "ä"} {
		_, end := w.Call(t.Context(), scheduler.Request{Tool: name, CallID: strings.Repeat("\x00\xffid", 1000)})
		end(scheduler.Response{Tool: name, Status: scheduler.StatusError, Result: tools.Fail(fault.New(fault.ToolNotRegistered, "", "", ""))})
	}
	for _, s := range w.spans.Ended() {
		require.Equal(t, "execute_tool _OTHER", s.Name())
		require.LessOrEqual(t, len(attr(s, "gen_ai.tool.call.id")), 256)
		require.NotContains(t, attr(s, "gen_ai.tool.call.id"), "\x00")
	}
	require.Equal(t, []string{"error.type=tool_not_registered fettle.tool.status=error gen_ai.tool.name=_OTHER: 5"},
		points(w.collected(t)["fettle.tool.call.count"]))
}

// A call by an alias is recorded under the tool's name.
func TestAlias(t *testing.T) {
	w := watch(t)
	_, end := w.Call(t.Context(), scheduler.Request{Tool: "grep_search"})
	end(scheduler.Response{Tool: "search_file_content", Status: scheduler.StatusSuccess})
	require.Equal(t, "search_file_content", attr(w.named(t, "execute_tool search_file_content"), "gen_ai.tool.name"))
}

// Requests and calls without a prompt get spans below the span of the context. The prompt of
// another Telemetry has no effect.
func TestWithoutPrompt(t *testing.T) {
	w, other := watch(t), watch(t)
	ctx, end := other.Prompt(t.Context(), agent.PromptInfo{Model: "gpt-5"})
	_, answered := w.Request(ctx, agent.RequestInfo{Request: &model.Request{}, Attempt: 1})
	answered(agent.RequestEnd{})
	_, called := w.Call(ctx, scheduler.Request{Tool: "look"})
	called(scheduler.Response{Tool: "look", Status: scheduler.StatusSuccess})
	end(agent.PromptEnd{})
	require.Len(t, w.spans.Started(), 2)
	require.Equal(t, "chat", w.spans.Ended()[0].Name())
	require.Len(t, w.spans.Ended(), 2)
	require.Len(t, other.spans.Ended(), 1)
	require.Equal(t, "openai", attr(other.spans.Ended()[0], "gen_ai.provider.name"))
}

func TestProviderNames(t *testing.T) {
	for name, want := range map[string]string{
		"gemini:x": "gcp.gemini", "gemini-2.5-pro": "gcp.gemini", "anthropic:claude": "anthropic", "openai:ft:x": "openai", "mystery": "",
	} {
		w := watch(t)
		_, end := w.Prompt(t.Context(), agent.PromptInfo{Model: name})
		end(agent.PromptEnd{})
		require.Equal(t, want, attr(w.spans.Ended()[0], "gen_ai.provider.name"), name)
	}
}

// refusing is a provider whose meter creates no histograms.
type refusing struct{ noop.MeterProvider }

func (refusing) Meter(string, ...metric.MeterOption) metric.Meter { return refusingMeter{} }

type refusingMeter struct{ noop.Meter }

func (refusingMeter) Float64Histogram(string, ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return noop.Float64Histogram{}, errors.New("no histograms")
}

func TestNew(t *testing.T) {
	for name, o := range map[string]telemetry.Options{
		"content without a mask": {Content: true},
		"no instruments":         {MeterProvider: refusing{}},
	} {
		_, err := telemetry.New(o)
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), name)
		require.NotEmpty(t, fault.As(err).Remedy)
	}
}

// Without providers nothing is recorded, and everything works; a span that is sampled out is passed
// on nevertheless.
func TestNothingIsRecorded(t *testing.T) {
	for name, o := range map[string]telemetry.Options{
		"no providers": {},
		"sampled out":  {TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())), Content: true, Mask: mask},
	} {
		t.Run(name, func(t *testing.T) {
			w := watch(t)
			var err error
			w.Telemetry, err = telemetry.New(o)
			require.NoError(t, err)
			require.Equal(t, agent.EventDone, conversation(t, w).Type)
			require.Empty(t, w.spans.Ended())
			require.Empty(t, w.collected(t))
		})
	}
}
