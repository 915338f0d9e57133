package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// fake is a model that answers its nth request, counted from 0, by a function. It records the
// requests.
type fake struct {
	answer func(n int, r *model.Request) stream

	mu       sync.Mutex
	requests []model.Request
}

// stream is an answer: pieces, and optionally an error.
type stream struct {
	chunks []model.Chunk
	err    error
	before func() // is called first
}

func (f *fake) Stream(_ context.Context, r *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		f.mu.Lock()
		n := len(f.requests)
		kept := *r
		kept.Contents = slices.Clone(r.Contents)
		f.requests = append(f.requests, kept)
		f.mu.Unlock()
		s := f.answer(n, r)
		if s.before != nil {
			s.before()
		}
		for _, c := range s.chunks {
			if !yield(&c, nil) {
				return
			}
		}
		if s.err != nil {
			yield(nil, s.err)
		}
	}
}

func (f *fake) Generate(ctx context.Context, r *model.Request) (*model.Response, error) {
	return model.Collect(f.Stream(ctx, r))
}

func (f *fake) CountTokens(_ context.Context, r *model.Request) (int, error) {
	return model.EstimateTokens(r), nil
}

// inOrder answers with these streams, and then always with "Done.".
func inOrder(streams ...stream) *fake {
	return &fake{answer: func(n int, _ *model.Request) stream {
		if n < len(streams) {
			return streams[n]
		}
		return says("Done.")
	}}
}

// says is an answer of text, in pieces.
func says(pieces ...string) stream {
	var s stream
	for _, piece := range pieces {
		s.chunks = append(s.chunks, model.Chunk{Parts: []model.Part{model.TextPart(piece)}})
	}
	s.chunks = append(s.chunks, model.Chunk{Finish: model.FinishStop})
	return s
}

// asks is an answer that calls tools.
func asks(calls ...model.FunctionCall) stream {
	s := says("I look.")
	for _, call := range calls {
		s.chunks = slices.Insert(s.chunks, len(s.chunks)-1, model.Chunk{Parts: []model.Part{{Call: &call}}})
	}
	return s
}

func call(id, name, args string) model.FunctionCall {
	return model.FunctionCall{ID: id, Name: name, Args: json.RawMessage(args)}
}

// fails is an answer that breaks off.
func fails(kind model.ErrorKind, status int, pieces ...string) stream {
	s := says(pieces...)
	return stream{chunks: s.chunks[:len(s.chunks)-1], err: &model.Error{Provider: "fake", Kind: kind, Status: status, Message: "it broke"}}
}

// runner is a scheduler that answers each call with the result of run.
type runner struct {
	run func(ctx context.Context, r scheduler.Request) tools.Result

	mu  sync.Mutex
	ran []string // names, in order
}

func (s *runner) RunAll(ctx context.Context, requests []scheduler.Request) []scheduler.Response {
	responses := make([]scheduler.Response, len(requests))
	for i, r := range requests {
		s.mu.Lock()
		s.ran = append(s.ran, r.Tool)
		s.mu.Unlock()
		result := tools.Result{LLMContent: tools.Text("the result of " + r.Tool)}
		if s.run != nil {
			result = s.run(ctx, r)
		}
		status := scheduler.StatusSuccess
		if result.Error != nil {
			status = scheduler.StatusError
		}
		responses[i] = scheduler.Response{CallID: r.CallID, Tool: r.Tool, Status: status, Result: result}
	}
	return responses
}

// newClient returns a client for a model, and fails the test on an error.
func newClient(t testing.TB, g model.Generator, set ...func(o *agent.Options)) *agent.Client {
	t.Helper()
	o := agent.Options{Source: model.Always(g), Model: func() string { return "fake:one" }, Scheduler: &runner{}}
	for _, f := range set {
		f(&o)
	}
	c, err := agent.New(o)
	require.NoError(t, err)
	return c
}

// run returns the events of a prompt.
func run(ctx context.Context, c *agent.Client, text string) []agent.Event {
	return slices.Collect(c.Run(ctx, model.TextPart(text)))
}

func last(events []agent.Event) agent.Event { return events[len(events)-1] }

// types lists the types of events.
func types(events []agent.Event) []agent.EventType {
	var list []agent.EventType
	for _, e := range events {
		list = append(list, e.Type)
	}
	return list
}

// outline is a short form of a history for comparisons: "user: …", "model: …" with calls as ID! and
// responses as ID=.
func outline(history []model.Content) []string {
	var lines []string
	for _, turn := range history {
		line := string(turn.Role) + ":"
		for _, p := range turn.Parts {
			switch {
			case p.Call != nil:
				line += " " + p.Call.ID + "!"
			case p.Response != nil:
				line += " " + p.Response.ID + "="
			case p.Data != nil:
				line += " data"
			case p.Thought:
				line += " (" + p.Text + ")"
			default:
				line += " " + p.Text
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// checkEvents checks the invariants of every prompt: the last event, and no other, ends it; each
// call is reported before its response, and has one.
func checkEvents(t testing.TB, events []agent.Event) {
	t.Helper()
	open := make(map[string]int)
	for i, e := range events {
		require.Equal(t, i == len(events)-1, e.Type.Ends(), "event %d is %s", i, e.Type)
		switch e.Type {
		case agent.EventToolCall:
			open[e.Call.ID]++
		case agent.EventToolResponse:
			open[e.Call.ID]--
			require.Equal(t, e.Call.ID, e.Response.CallID)
		}
	}
	for id, n := range open {
		require.Zero(t, n, "responses to the call "+id)
	}
}

// checkClient checks the invariant after every prompt: the history is valid.
func checkClient(t testing.TB, c *agent.Client) {
	t.Helper()
	require.NoError(t, agent.ValidHistory(c.History()), fmt.Sprint(outline(c.History())))
}
