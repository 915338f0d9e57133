package agent_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// AR-30: a scripted model drives a conversation of two turns with tools, by requests of the caller.
func TestSendStream(t *testing.T) {
	g := inOrder(asks(call("1", "look", `{"text":"a"}`)), asks(call("2", "look", `{"text":"b"}`), call("3", "look", `{"text":"c"}`)))
	s, ran := realTools(t, nil)
	c := newClient(t, g, func(o *agent.Options) { o.Scheduler = s })
	require.False(t, c.Initialized())
	require.NoError(t, c.Initialize(t.Context()))
	require.True(t, c.Initialized())
	c.SetTools(func() []model.Tool { return []model.Tool{{Name: "look"}} })

	parts := []model.Part{text("Do it.")}
	var seen [][]agent.EventType
	for len(parts) > 0 {
		var calls []model.FunctionCall
		var events []agent.Event
		for e := range c.SendStream(t.Context(), parts...) {
			events = append(events, e)
			if e.Type == agent.EventToolCall {
				calls = append(calls, *e.Call)
			}
		}
		seen = append(seen, types(events))
		parts, _ = c.ProcessTurn(t.Context(), calls)
	}
	require.Equal(t, [][]agent.EventType{
		{agent.EventModel, agent.EventText, agent.EventToolCall, agent.EventFinished},
		{agent.EventModel, agent.EventText, agent.EventToolCall, agent.EventToolCall, agent.EventFinished},
		{agent.EventModel, agent.EventText, agent.EventFinished, agent.EventDone},
	}, seen)
	require.ElementsMatch(t, []string{"look a", "look b", "look c"}, ran()) // calls that read run concurrently
	require.Equal(t, []string{"user: Do it.", "model: I look. 1!", "user: 1=", "model: I look. 2! 3!", "user: 2= 3=", "model: Done."}, outline(c.History()))
	require.Equal(t, "look", g.requests[0].Tools[0].Name)
	require.NoError(t, c.ResetChat(t.Context()))
	require.Empty(t, c.History())
}

// Unanswered calls are answered as cancelled, responses without a call are dropped, and a failed
// request removes everything but responses.
func TestSendStreamPairing(t *testing.T) {
	g := inOrder(asks(call("1", "look", ""), call("2", "look", "")), fails(model.InvalidRequest, 400), says("Well."))
	c := newClient(t, g, func(o *agent.Options) { o.Compactor = &shortener{answer: toSummary} })
	for range c.SendStream(t.Context(), text("a")) {
	}
	require.Error(t, agent.ValidHistory(c.History()), "calls are open")
	compaction, err := c.Compress(t.Context(), true)
	require.NoError(t, err)
	require.Equal(t, agent.CompactionNoop, compaction.Status)

	end := last(slices.Collect(c.SendStream(t.Context(), text("b"), respPart("2"), respPart("9"))))
	require.Equal(t, agent.EventError, end.Type)
	require.Equal(t, []string{"user: a", "model: I look. 1! 2!", "user: 1= 2="}, outline(c.History()))
	require.Contains(t, outputs(c.History())[0], "interrupted")
	require.Contains(t, outputs(c.History())[1], "of 2")

	require.Equal(t, agent.EventDone, last(slices.Collect(c.SendStream(t.Context(), text("c")))).Type)
	require.Equal(t, []string{"user: a", "model: I look. 1! 2!", "user: 1= 2=", "model: (This answer was interrupted.)", "user: c", "model: Well."}, outline(c.History()))
	require.Equal(t, agent.EventError, last(slices.Collect(c.SendStream(t.Context(), respPart("2")))).Type, "nothing to send")
}

// A failed request after calls is repeated with the same responses, or with none.
func TestSendStreamAgain(t *testing.T) {
	c := newClient(t, inOrder(asks(call("1", "look", "")), fails(model.InvalidRequest, 400), fails(model.InvalidRequest, 400), says("Well.")))
	for range c.SendStream(t.Context(), text("a")) {
	}
	for _, parts := range [][]model.Part{{respPart("1")}, {respPart("1")}, nil} {
		for range c.SendStream(t.Context(), parts...) {
		}
	}
	require.Equal(t, []string{"user: a", "model: I look. 1!", "user: 1=", "model: Well."}, outline(c.History()))
}

// FT-15, the option: a new instruction is sent once, in the user turn of the next request, and the
// system prompt does not change.
func TestReminders(t *testing.T) {
	var due []model.Part
	g := inOrder(asks(call("1", "look", "")), asks(call("2", "look", "")))
	c := newClient(t, g, func(o *agent.Options) {
		o.System = func(context.Context) (string, error) { return "Base.", nil }
		o.Scheduler = &runner{run: func(_ context.Context, r scheduler.Request) tools.Result {
			if r.CallID == "1" {
				due = []model.Part{text("Rules of dir/.")}
			}
			return tools.Result{}
		}}
		o.Reminders = func(context.Context) ([]model.Part, error) {
			now := due
			due = nil
			return now, nil
		}
	})
	run(t.Context(), c, "Do it.")
	require.Equal(t, []string{"user: Do it.", "model: I look. 1!", "user: 1= Rules of dir/.", "model: I look. 2!", "user: 2=", "model: Done."}, outline(c.History()))
	for _, r := range g.requests {
		require.Equal(t, "Base.", r.System)
	}
}

// A reminder of a failed request is sent with the next one.
func TestReminderOfAFailedRequest(t *testing.T) {
	due := []model.Part{text("Rules.")}
	c := newClient(t, inOrder(fails(model.InvalidRequest, 400)), func(o *agent.Options) {
		o.Reminders = func(context.Context) ([]model.Part, error) {
			now := due
			due = nil
			return now, nil
		}
	})
	require.Equal(t, agent.EventError, last(run(t.Context(), c, "a")).Type)
	require.Empty(t, c.History())
	run(t.Context(), c, "b")
	run(t.Context(), c, "c")
	require.Equal(t, []string{"user: b Rules.", "model: Done.", "user: c", "model: Done."}, outline(c.History()))
}

func TestSteps(t *testing.T) {
	type steps = agent.Steps
	before := func(a agent.PromptAdvice) steps {
		return steps{BeforePrompt: []agent.BeforePrompt{func(context.Context, []model.Part) (agent.PromptAdvice, error) { return a, nil }}}
	}
	after := func(a agent.PromptAdvice) steps {
		return steps{AfterPrompt: []agent.AfterPrompt{func(_ context.Context, _ []model.Part, _ string, again bool) (agent.PromptAdvice, error) {
			if again {
				return agent.PromptAdvice{}, nil
			}
			return a, nil
		}}}
	}
	tests := map[string]struct {
		steps   steps
		want    agent.EventType
		text    string
		history []string
	}{
		"stop before":  {before(agent.PromptAdvice{Stop: "why"}), agent.EventStopped, "why", []string{"user: Do it."}},
		"block before": {before(agent.PromptAdvice{Block: "why"}), agent.EventBlocked, "why", nil},
		"stop after":   {after(agent.PromptAdvice{Stop: "why"}), agent.EventStopped, "why", []string{"user: Do it.", "model: Done."}},
		"stop, clear":  {after(agent.PromptAdvice{Stop: "why", Clear: true}), agent.EventStopped, "why", nil},
		"clear":        {after(agent.PromptAdvice{Clear: true}), agent.EventDone, "", nil},
		"block after":  {after(agent.PromptAdvice{Block: "More."}), agent.EventDone, "", []string{"user: Do it.", "model: Done.", "user: More.", "model: Done."}},
		"block, clear": {after(agent.PromptAdvice{Block: "More.", Clear: true}), agent.EventDone, "", []string{"user: More.", "model: Done."}},
		"stop request": {steps{BeforeRequest: []agent.BeforeRequest{func(context.Context, *model.Request) (agent.RequestAdvice, error) {
			return agent.RequestAdvice{Stop: "why"}, nil
		}}}, agent.EventStopped, "why", []string{"user: Do it."}},
		"stop chunk": {steps{AfterChunk: []agent.AfterChunk{func(context.Context, *model.Chunk) (string, error) { return "why", nil }}}, agent.EventStopped, "why", []string{"user: Do it."}},
		"another text": {steps{AfterChunk: []agent.AfterChunk{func(_ context.Context, c *model.Chunk) (string, error) {
			c.Parts = []model.Part{text("x")}
			return "", nil
		}}}, agent.EventDone, "", []string{"user: Do it.", "model: xx"}},
		"their answer": {steps{BeforeRequest: []agent.BeforeRequest{func(context.Context, *model.Request) (agent.RequestAdvice, error) {
			return agent.RequestAdvice{Response: &model.Response{Content: answer(text("Mine."))}}, nil
		}}}, agent.EventDone, "", []string{"user: Do it.", "model: Mine."}},
		"their request": {steps{BeforeRequest: []agent.BeforeRequest{func(_ context.Context, r *model.Request) (agent.RequestAdvice, error) {
			r.Contents[0].Parts[0].Text = "x"
			r.Model = "two"
			return agent.RequestAdvice{}, nil
		}}}, agent.EventDone, "", []string{"user: Do it.", "model: Done."}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g := inOrder()
			c := newClient(t, g, func(o *agent.Options) { o.Steps = tt.steps })
			events := run(t.Context(), c, "Do it.")
			checkEvents(t, events)
			require.Equal(t, tt.want, last(events).Type)
			require.Equal(t, tt.text, last(events).Text)
			require.Equal(t, tt.history, outline(c.History()))
			if name == "their request" {
				require.Equal(t, "two", g.requests[0].Model)
				require.Equal(t, "x", g.requests[0].Contents[0].Text())
			}
			run(t.Context(), c, "And now?")
			checkClient(t, c)
		})
	}
}

// User texts without an answer between them become one turn.
func TestTextAfterText(t *testing.T) {
	stop := true
	rec := &record{}
	c := newClient(t, inOrder(fails(model.InvalidRequest, 400)), func(o *agent.Options) {
		o.Recorder = rec
		o.Steps.BeforePrompt = []agent.BeforePrompt{func(context.Context, []model.Part) (agent.PromptAdvice, error) {
			if stop {
				return agent.PromptAdvice{Stop: "why"}, nil
			}
			return agent.PromptAdvice{}, nil
		}}
	})
	run(t.Context(), c, "a")
	held := c.History()
	stop = false
	require.Equal(t, agent.EventError, last(run(t.Context(), c, "b")).Type)
	require.Equal(t, []string{"user: a"}, outline(c.History()))
	run(t.Context(), c, "c")
	require.Equal(t, []string{"user: a c", "model: Done."}, outline(c.History()))
	require.Equal(t, c.History(), rec.history)
	require.Equal(t, []string{"user: a"}, outline(held), "a history that a caller has")
}

// A step that stops before a call ends the prompt; its responses stay.
func TestStopExecution(t *testing.T) {
	registry := tools.NewRegistry(tools.RegistryOptions{})
	tool, err := tools.Define("look", "Looks.", tools.KindRead, func(context.Context, noteParams) (tools.Result, error) { return tools.Result{}, nil })
	require.NoError(t, err)
	require.NoError(t, registry.Register(tool))
	s := scheduler.New(scheduler.Options{Tools: registry, Before: []scheduler.Before{func(context.Context, scheduler.Proposal) (scheduler.Advice, error) {
		return scheduler.Advice{Stop: true, Reason: "Enough."}, nil
	}}})
	c := newClient(t, inOrder(asks(call("1", "look", `{"text":"a"}`), call("2", "look", `{"text":"a"}`))), func(o *agent.Options) { o.Scheduler = s })
	end := last(run(t.Context(), c, "Do it."))
	require.Equal(t, agent.EventStopped, end.Type)
	require.Contains(t, end.Text, "Enough.")
	require.Equal(t, []string{"user: Do it.", "model: I look. 1! 2!", "user: 1= 2="}, outline(c.History()))
}

// Data of a tool result follows its response.
func TestDataOfATool(t *testing.T) {
	c := newClient(t, inOrder(asks(call("1", "look", ""))), func(o *agent.Options) {
		o.Scheduler = &runner{run: func(context.Context, scheduler.Request) tools.Result {
			return tools.Result{LLMContent: tools.Data("A picture.", "image/png", []byte{1, 2})}
		}}
	})
	run(t.Context(), c, "Do it.")
	r := c.History()[2].Parts[0].Response
	require.JSONEq(t, `{"output":"A picture."}`, string(r.Response))
	require.Equal(t, []model.Data{{MIMEType: "image/png", Bytes: []byte{1, 2}}}, r.Data)
}

func TestSessionTurns(t *testing.T) {
	c := newClient(t, inOrder(), func(o *agent.Options) { o.Limits.SessionTurns, o.Limits.PromptTurns = 2, -1 })
	require.Equal(t, agent.EventDone, last(run(t.Context(), c, "a")).Type)
	require.Equal(t, agent.EventDone, last(run(t.Context(), c, "b")).Type)
	for _, events := range [][]agent.Event{run(t.Context(), c, "c"), slices.Collect(c.SendStream(t.Context(), text("c")))} {
		require.Equal(t, agent.EventLimit, last(events).Type)
		require.EqualValues(t, "session_turns", last(events).Err.Reason)
	}
	require.Len(t, c.History(), 4, "a prompt that is not worked on is not in the history")
}

// Thoughts are separate from the answer, and are sent back only to the provider that signed them.
func TestThoughts(t *testing.T) {
	thought := func(text, provider string) model.Part {
		return model.Part{Text: text, Thought: true, Signature: []byte("s")[:min(len(provider), 1)], Provider: provider}
	}
	signed := stream{chunks: []model.Chunk{
		{Parts: []model.Part{thought("**Plan** first look", "")}},
		{Parts: []model.Part{thought("", "fake")}}, // signs it
		{Parts: []model.Part{text("one")}, Finish: model.FinishStop},
	}}
	bare := stream{chunks: []model.Chunk{{Parts: []model.Part{thought("unsigned", ""), text("two")}, Finish: model.FinishStop}}}
	g := inOrder(signed, bare)
	name := "fake:one"
	c := newClient(t, g, func(o *agent.Options) { o.Model = func() string { return name } })
	events := run(t.Context(), c, "a")
	require.Equal(t, []agent.EventType{agent.EventModel, agent.EventThought, agent.EventText, agent.EventFinished, agent.EventDone}, types(events))
	require.Equal(t, &agent.Thought{Subject: "Plan", Description: "first look"}, events[1].Thought)
	run(t.Context(), c, "b")
	run(t.Context(), c, "c")
	require.Equal(t, []string{"user: a", "model: (**Plan** first look) one", "user: b", "model: two", "user: c"}, outline(g.requests[2].Contents))
	require.Equal(t, []string{"user: a", "model: (**Plan** first look) one", "user: b", "model: (unsigned) two", "user: c", "model: Done."}, outline(c.History()))
	name = "other:one"
	run(t.Context(), c, "d")
	require.Equal(t, "model: one", outline(g.requests[3].Contents)[1])
	require.Equal(t, "one", g.requests[3].Model)
	require.Len(t, c.History()[1].Parts, 2, "the history keeps them")
}

// If a turn is empty for another model, its neighbours are merged.
func TestForeignTurn(t *testing.T) {
	g := inOrder()
	c := newClient(t, g, func(o *agent.Options) {
		o.History = []model.Content{user(text("a")), answer(model.Part{Signature: []byte("s"), Provider: "other"}), user(text("b"))}
	})
	run(t.Context(), c, "c")
	require.Equal(t, []string{"user: a b c"}, outline(g.requests[0].Contents))
	require.Len(t, c.History(), 4)
}

func TestNew(t *testing.T) {
	_, err := agent.New(agent.Options{Source: model.Always(inOrder())})
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	missing := fault.New(fault.InvalidConfig, "source", "There is no key.", "Set it.")
	c := newClient(t, nil, func(o *agent.Options) {
		o.Source = func(context.Context, string) (model.Generator, error) { return nil, missing }
	})
	require.ErrorIs(t, c.Initialize(t.Context()), missing)
	require.False(t, c.Initialized())
	require.Same(t, missing, last(run(t.Context(), c, "a")).Err)
	require.Equal(t, agent.EventError, last(slices.Collect(newClient(t, inOrder()).Run(t.Context()))).Type, "nothing to say")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, fault.Cancelled, fault.CodeOf(c.Initialize(ctx)))
	require.Equal(t, fault.Cancelled, fault.CodeOf(c.SetHistory(ctx, nil)))
	_, err = c.Compress(ctx, true)
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
}

// Panics and warnings are logged; content is not.
func TestLog(t *testing.T) {
	var log strings.Builder
	c := newClient(t, inOrder(fails(model.RateLimited, 429)), func(o *agent.Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		o.Recorder, o.Observer = &badRecorder{}, badObserver{panics: true}
		o.Retry.First = time.Microsecond
	})
	run(t.Context(), c, "secret words")
	for _, want := range []string{"panic in the observation of a prompt", "session_unreadable", "rate_limited", "hostile_test.go"} {
		require.Contains(t, log.String(), want)
	}
	require.NotContains(t, log.String(), "secret words")
}

// A name without its provider is passed on, and its signatures are sent to the Generator that it
// selects.
func TestBareName(t *testing.T) {
	g := inOrder()
	c := newClient(t, g, func(o *agent.Options) {
		o.Model = func() string { return "mine" }
		o.History = []model.Content{user(text("a")), answer(text("b"), model.Part{Signature: []byte("s"), Provider: "me"})}
	})
	run(t.Context(), c, "c")
	require.Equal(t, "mine", g.requests[0].Model)
	require.Len(t, g.requests[0].Contents[1].Parts, 2)
}

// If a model gives every call the same ID, the responses still match their calls.
func TestSameIDs(t *testing.T) {
	c := newClient(t, inOrder(asks(call("1", "look", ""), call("1", "look", "")), asks(call("1", "look", ""), call("", "look", ""))))
	run(t.Context(), c, "Do it.")
	require.Equal(t, []string{"user: Do it.", "model: I look. 1! 1-2!", "user: 1= 1-2=", "model: I look. 1-3! call-2!", "user: 1-3= call-2=", "model: Done."},
		outline(c.History()))
}

// The source is called again when the name changes, and only between prompts.
func TestModelChanges(t *testing.T) {
	name := "fake:one"
	var names []string
	g := inOrder()
	g.answer = func(n int, _ *model.Request) stream {
		name = "fake:two"
		if n == 0 {
			return asks(call("1", "look", ""))
		}
		return says("Done.")
	}
	c := newClient(t, nil, func(o *agent.Options) {
		o.Model = func() string { return name }
		o.Source = func(_ context.Context, name string) (model.Generator, error) {
			names = append(names, name)
			return g, nil
		}
	})
	run(t.Context(), c, "a")
	run(t.Context(), c, "b")
	require.Equal(t, "fake:two", run(t.Context(), c, "c")[0].Text)
	require.Equal(t, []string{"fake:one", "fake:two"}, names)
	require.Equal(t, []string{"one", "one", "two", "two"}, []string{g.requests[0].Model, g.requests[1].Model, g.requests[2].Model, g.requests[3].Model})
}

func TestRequestSettings(t *testing.T) {
	g := inOrder()
	temperature := 0.5
	c := newClient(t, g, func(o *agent.Options) {
		o.Temperature, o.Limits.OutputTokens, o.Purpose = &temperature, 99, model.PurposeSubagent
		o.Tools = func() []model.Tool { return []model.Tool{{Name: "look"}} }
	})
	run(t.Context(), c, "a")
	r := g.requests[0]
	require.Equal(t, 0.5, *r.Temperature)
	require.Equal(t, 99, r.MaxOutputTokens)
	require.Equal(t, model.PurposeSubagent, r.Purpose)
	require.Equal(t, "look", r.Tools[0].Name)
	require.JSONEq(t, `{"subject":"a","description":"b"}`, string(must(json.Marshal(agent.Thought{Subject: "a", Description: "b"}))))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A prompt in one conversation does not wait for another conversation.
func TestConversationsSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func() *fake {
			return inOrder(stream{chunks: says("Done.").chunks, before: func() { time.Sleep(time.Minute) }})
		}
		begun := time.Now()
		done := make(chan struct{})
		for range 2 {
			c := newClient(t, slow())
			go func() {
				run(t.Context(), c, "a")
				done <- struct{}{}
			}()
		}
		<-done
		<-done
		require.Equal(t, time.Minute, time.Since(begun))
	})
}
