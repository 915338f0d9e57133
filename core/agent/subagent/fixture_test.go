package subagent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// answer is a model's response to one request.
type answer struct {
	text  string
	calls []model.FunctionCall
	err   error
	wait  bool // block until the request is cancelled
}

func calls(name, args string) answer {
	return answer{calls: []model.FunctionCall{{ID: "c-" + name, Name: name, Args: json.RawMessage(args)}}}
}

func completes(result string) answer {
	text, _ := json.Marshal(map[string]string{"result": result})
	return calls("complete_task", string(text))
}

// generator answers requests by a function, and records them.
type generator struct {
	answer func(n int, r *model.Request) answer

	mu       sync.Mutex
	requests []model.Request
}

// inOrder answers with these; the last one repeats.
func inOrder(all ...answer) *generator {
	return &generator{answer: func(n int, _ *model.Request) answer { return all[min(n, len(all)-1)] }}
}

func (g *generator) Stream(ctx context.Context, r *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		g.mu.Lock()
		n := len(g.requests)
		kept := *r
		kept.Contents = slices.Clone(r.Contents)
		g.requests = append(g.requests, kept)
		g.mu.Unlock()
		a := g.answer(n, r)
		if a.wait {
			<-ctx.Done()
			yield(nil, ctx.Err())
			return
		}
		if a.err != nil {
			yield(nil, a.err)
			return
		}
		c := model.Chunk{Finish: model.FinishStop}
		if a.text != "" {
			c.Parts = append(c.Parts, model.TextPart(a.text))
		}
		for i, call := range a.calls {
			call.ID = fmt.Sprintf("%s-%d-%d", call.ID, n, i)
			c.Parts = append(c.Parts, model.Part{Call: &call})
		}
		yield(&c, nil)
	}
}

func (g *generator) Generate(ctx context.Context, r *model.Request) (*model.Response, error) {
	return model.Collect(g.Stream(ctx, r))
}

func (g *generator) CountTokens(_ context.Context, r *model.Request) (int, error) {
	return model.EstimateTokens(r), nil
}

func (g *generator) asked() []model.Request {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.requests)
}

// declared returns the names of the tools of a request.
func declared(r model.Request) []string {
	var names []string
	for _, t := range r.Tools {
		names = append(names, t.Name)
	}
	return names
}

// responsesIn returns the tool results in a request's last turn, as text.
func responsesIn(r model.Request) string {
	text, _ := json.Marshal(r.Contents[len(r.Contents)-1].Responses())
	return string(text)
}

// host creates sessions with their own scheduler and registry.
type host struct {
	models  func(d *subagent.Definition) *generator
	tools   []tools.DeclarativeTool
	bus     *bus.MessageBus
	changed []string
	set     func(s *subagent.Session)

	mu     sync.Mutex
	begun  int
	closed int
}

func (h *host) Begin(_ context.Context, d *subagent.Definition) (*subagent.Session, error) {
	h.mu.Lock()
	h.begun++
	id := fmt.Sprintf("session %d", h.begun)
	h.mu.Unlock()
	r := tools.NewRegistry(tools.RegistryOptions{})
	for _, t := range h.tools {
		if err := r.Register(t); err != nil {
			return nil, err
		}
	}
	s := &subagent.Session{
		Agent: agent.Options{
			Source: model.Always(h.models(d)), Model: func() string { return "fake:one" },
			Scheduler: scheduler.New(scheduler.Options{Tools: r, Bus: h.bus, ID: id}),
			Retry:     agent.Retry{Attempts: 1, StreamAttempts: 1},
			System:    func(context.Context) (string, error) { return "# Environment", nil },
		},
		Registry: r, SchedulerID: id,
		Changed: func() []string { return h.changed },
		Close: func() error {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.closed++
			return nil
		},
	}
	if h.set != nil {
		h.set(s)
	}
	return s, nil
}

func newHost(g *generator, all ...tools.DeclarativeTool) *host {
	return &host{models: func(*subagent.Definition) *generator { return g }, tools: all}
}

// worker returns a valid definition.
func worker(set ...func(d *subagent.Definition)) subagent.Definition {
	d := subagent.Definition{Name: "worker", Description: "Works.", Prompt: "You work. Today is ${today}, on ${model}."}
	for _, f := range set {
		f(&d)
	}
	return d
}

var day = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// run runs an agent on a query.
func run(t *testing.T, h *host, d subagent.Definition, set ...func(o *subagent.Options)) subagent.Outcome {
	t.Helper()
	o := subagent.Options{Host: h, Bus: h.bus, Now: func() time.Time { return day }}
	for _, f := range set {
		f(&o)
	}
	out, err := subagent.NewRunner(o).Run(t.Context(), d, json.RawMessage(`{"query":"the task"}`))
	require.NoError(t, err)
	require.Equal(t, h.begun, h.closed, "each session is closed")
	return out
}

// execute runs the tool of an agent.
func execute(ctx context.Context, t *testing.T, h *host, d subagent.Definition) (tools.Result, error) {
	t.Helper()
	made, err := subagent.NewRunner(subagent.Options{Host: h, Bus: h.bus}).Tool(d)
	require.NoError(t, err)
	inv, err := made.Build(json.RawMessage(`{"query":"the task"}`))
	require.NoError(t, err)
	return inv.Execute(ctx, nil)
}
