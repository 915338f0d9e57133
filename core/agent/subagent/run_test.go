package subagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/tools"
)

// EX-14: an agent works with its own tools, and its caller gets only the result.
func TestRun(t *testing.T) {
	g := inOrder(calls("read_file", `{"text":"a"}`), completes("All is well."))
	h := newHost(g, tool(t, "read_file", tools.KindRead), tool(t, "glob", tools.KindSearch))
	o := run(t, h, worker(func(d *subagent.Definition) { d.Tools = []string{"Read"} }))
	require.Equal(t, subagent.Goal, o.Reason)
	require.Nil(t, o.Err)
	require.Equal(t, "All is well.", o.Text)
	require.JSONEq(t, `"All is well."`, string(o.Report))
	require.Equal(t, 2, o.Turns)

	asked := g.asked()
	require.Len(t, asked, 2, "nothing is asked after the report")
	require.Equal(t, []string{"read_file", "complete_task"}, declared(asked[0]))
	require.Equal(t, model.PurposeSubagent, asked[0].Purpose)
	require.True(t, strings.HasPrefix(asked[0].System, "You work. Today is Monday, 2 March 2026, on fake:one."), asked[0].System)
	require.True(t, strings.HasSuffix(asked[0].System, "# Environment"))
	require.Contains(t, asked[0].System, "complete_task with the argument result")
	require.Equal(t, []model.Content{model.UserText("the task")}, asked[0].Contents)
	require.Contains(t, responsesIn(asked[1]), "read_file did a")
}

// The agent has a tool that the session grants, although its list does not name it.
func TestGranted(t *testing.T) {
	g := inOrder(calls("finder", `{}`), completes("ok"))
	h := newHost(g, tool(t, "finder", tools.KindSearch), tool(t, "read_file", tools.KindRead), tool(t, "glob", tools.KindSearch))
	h.set = func(s *subagent.Session) { s.Granted = []string{"finder", "absent"} }
	o := run(t, h, worker(func(d *subagent.Definition) { d.Tools = []string{"read_file"} }))
	require.Equal(t, subagent.Goal, o.Reason)
	require.Equal(t, []string{"finder", "read_file", "complete_task"}, declared(g.asked()[0]))
	require.NotContains(t, responsesIn(g.asked()[1]), "Unauthorized")
}

// EX-14: a tool that the agent does not have is not run, and the run continues.
func TestUnauthorized(t *testing.T) {
	ran := false
	forbidden, err := tools.Define("glob", "A tool.", tools.KindSearch, func(context.Context, noArgs) (tools.Result, error) {
		ran = true
		return tools.Result{}, nil
	})
	require.NoError(t, err)
	g := inOrder(calls("glob", `{}`), calls("invented", `{}`), completes("ok"))
	o := run(t, newHost(g, forbidden, tool(t, "read_file", tools.KindRead)), worker(func(d *subagent.Definition) { d.Tools = []string{"read_file"} }))
	require.Equal(t, subagent.Goal, o.Reason)
	require.False(t, ran)
	for _, r := range g.asked()[1:] {
		require.Contains(t, responsesIn(r), "Unauthorized: the agent worker has no tool named")
		require.Contains(t, responsesIn(r), "read_file, complete_task")
	}
}

// A tool of the caller named complete_task is not available to an agent: it is neither declared
// next to the run's own nor run in its place.
func TestCompleteTaskIsTheRunsOwn(t *testing.T) {
	theirs, err := tools.Define("complete_task", "Another one.", tools.KindRead, func(context.Context, noArgs) (tools.Result, error) {
		t.Error("it ran")
		return tools.Result{}, nil
	})
	require.NoError(t, err)
	for name, values := range map[string]bool{"of the caller": false, "a value": true} {
		h := newHost(inOrder(completes("ok")), tool(t, "read_file", tools.KindRead))
		d := worker()
		if values {
			d.Values = []tools.DeclarativeTool{theirs}
		} else {
			h.tools = append(h.tools, theirs)
		}
		made, err := subagent.NewRunner(subagent.Options{Host: h}).Run(t.Context(), d, json.RawMessage(`{"query":"x"}`))
		require.NoError(t, err, name)
		require.Equal(t, "ok", made.Text, name)
		asked := h.models(nil).asked()
		require.Equal(t, []string{"read_file", "complete_task"}, declared(asked[0]), name)
		require.NotContains(t, asked[0].Tools[1].Description, "Another one.", name)
	}
}

// EX-19: initial messages, a query, and tools as values.
func TestInitialMessages(t *testing.T) {
	g := inOrder(calls("special", `{"text":"x"}`), completes("ok"))
	o := run(t, newHost(g), worker(func(d *subagent.Definition) {
		d.InitialMessages = []model.Content{model.UserText("Hello on ${today}"), {Role: model.RoleModel, Parts: []model.Part{{Text: "Hello."}}}}
		d.Query = "Do ${query}, $${not}."
		d.Tools = []string{}
		d.Values = []tools.DeclarativeTool{tool(t, "special", tools.KindRead)}
	}))
	require.Equal(t, subagent.Goal, o.Reason)
	asked := g.asked()
	require.Equal(t, []string{"special", "complete_task"}, declared(asked[0]))
	require.Equal(t, []model.Content{
		model.UserText("Hello on Monday, 2 March 2026"), {Role: model.RoleModel, Parts: []model.Part{{Text: "Hello."}}}, model.UserText("Do the task, ${not}."),
	}, asked[0].Contents)
	require.Contains(t, responsesIn(asked[1]), "special did x")
}

// A report must match its schema; an invalid one can be sent again.
func TestOutput(t *testing.T) {
	g := inOrder(calls("complete_task", `{}`), calls("complete_task", `{"n":"none"}`), calls("complete_task", `{"n":7}`))
	d := worker(func(d *subagent.Definition) {
		d.Output = &subagent.Output{Name: "n", Description: "A number.", Schema: json.RawMessage(`{"type":"integer"}`)}
	})
	o := run(t, newHost(g), d)
	require.Equal(t, subagent.Goal, o.Reason)
	require.Equal(t, "7", o.Text)
	require.Contains(t, responsesIn(g.asked()[1]), "invalid_tool_params")
	require.Contains(t, responsesIn(g.asked()[2]), "expected integer")

	// EX-12: optional output processing
	d.ProcessOutput = func(report json.RawMessage) (string, error) { return "It is " + string(report), nil }
	require.Equal(t, "It is 7", run(t, newHost(inOrder(calls("complete_task", `{"n":7}`))), d).Text)
	tries := 0
	d.ProcessOutput = func(json.RawMessage) (string, error) {
		if tries++; tries == 1 {
			panic("no")
		}
		if tries == 2 {
			return "", errors.New("too small")
		}
		return "fine", nil
	}
	g = inOrder(calls("complete_task", `{"n":7}`))
	require.Equal(t, "fine", run(t, newHost(g), d).Text)
	require.Contains(t, responsesIn(g.asked()[2]), "The report was not accepted: too small")
}

// The first accepted report ends the run: calls after it in the same turn do not run, calls before
// it do.
func TestCompleteAmongOthers(t *testing.T) {
	var ran []string
	note, err := tools.Define("note", "A tool.", tools.KindRead, func(_ context.Context, a noArgs) (tools.Result, error) {
		ran = append(ran, a.Text)
		return tools.Result{LLMContent: tools.Text("noted")}, nil
	})
	require.NoError(t, err)
	one := calls("note", `{"text":"before"}`)
	one.calls = append(one.calls, completes(" ").calls[0], completes("first").calls[0], calls("note", `{"text":"after"}`).calls[0], completes("second").calls[0])
	o := run(t, newHost(inOrder(one), note), worker())
	require.Equal(t, "first", o.Text)
	require.Equal(t, []string{"before"}, ran)
}

// EX-12: a run that ends without a report has one more turn, in which it can only report.
func TestGrace(t *testing.T) {
	tests := map[string]struct {
		answers []answer
		turns   int
		reason  subagent.Reason // without a report in the last turn
		request string
	}{
		"turns":       {[]answer{calls("read_file", `{"text":"1"}`), calls("read_file", `{"text":"2"}`)}, 2, subagent.MaxTurns, "You have used all turns"},
		"no complete": {[]answer{{text: "I think I am done."}}, 30, subagent.NoCompleteTask, "You stopped without calling complete_task"},
	}
	for name, tt := range tests {
		for _, reports := range []bool{true, false} {
			last := answer{text: "I could not."}
			if reports {
				last = completes("partly")
				last.calls = append([]model.FunctionCall{{ID: "r", Name: "read_file", Args: json.RawMessage(`{}`)}}, last.calls...)
			}
			g := inOrder(append(tt.answers[:len(tt.answers):len(tt.answers)], last, answer{text: "never asked"})...)
			o := run(t, newHost(g, tool(t, "read_file", tools.KindRead)), worker(func(d *subagent.Definition) { d.MaxTurns = tt.turns }))
			asked := g.asked()
			require.Len(t, asked, len(tt.answers)+1, name)
			final := asked[len(asked)-1]
			require.Equal(t, []string{"complete_task"}, declared(final))
			text, err := json.Marshal(final.Contents)
			require.NoError(t, err)
			require.Contains(t, string(text), tt.request)
			if reports {
				require.Equal(t, subagent.Goal, o.Reason)
				require.Equal(t, "partly", o.Text)
				require.Nil(t, o.Err)
				continue
			}
			require.Equal(t, tt.reason, o.Reason)
			require.Equal(t, "I could not.", o.Text)
			require.Equal(t, fault.AgentFailed, o.Err.Code)
			require.Nil(t, o.Report)
		}
	}
}

// EX-12: the time limit ends the run, and the last turn knows the work so far.
func TestTimeout(t *testing.T) {
	for _, reports := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			last := answer{wait: true}
			if reports {
				last = completes("so far")
			}
			g := inOrder(calls("read_file", `{"text":"a"}`), answer{wait: true}, last)
			begun := time.Now()
			o := run(t, newHost(g, tool(t, "read_file", tools.KindRead)), worker(func(d *subagent.Definition) { d.MaxTime = 5 * time.Minute }))
			asked := g.asked()
			require.Len(t, asked, 3)
			text, err := json.Marshal(asked[2].Contents)
			require.NoError(t, err)
			require.Contains(t, string(text), "The time limit of this task is reached")
			require.Contains(t, string(text), "read_file did a")
			if reports {
				require.Equal(t, subagent.Goal, o.Reason)
				require.Equal(t, 5*time.Minute, time.Since(begun))
				return
			}
			require.Equal(t, subagent.Timeout, o.Reason)
			require.Contains(t, o.Err.Message, "its limit of 5 min")
			require.Equal(t, 6*time.Minute, time.Since(begun), "the last turn has 60 s")
		})
	}
}

// The clock stops while the run waits for the user.
func TestClockStopsForUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bus.New(bus.Options{})
		defer b.Close()
		bus.Subscribe(t.Context(), b, func(_ context.Context, q bus.ToolConfirmationRequest) {
			time.Sleep(time.Hour)
			require.NoError(t, b.Publish(bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Confirmed: true}))
		})
		slow, err := tools.Define("slow", "A tool.", tools.KindExecute, func(context.Context, noArgs) (tools.Result, error) {
			time.Sleep(time.Minute)
			return tools.Result{LLMContent: tools.Text("slept")}, nil
		})
		require.NoError(t, err)
		h := newHost(inOrder(calls("slow", `{}`), calls("slow", `{"text":"again"}`), completes("ok")), slow)
		h.bus = b
		o := run(t, h, worker(func(d *subagent.Definition) { d.MaxTime = 150 * time.Second }))
		require.Equal(t, subagent.Goal, o.Reason)
		require.True(t, o.Other, "a command may have changed files")

		h.models = func(*subagent.Definition) *generator {
			return inOrder(calls("slow", `{}`), calls("slow", `{"text":"again"}`), answer{text: "no"})
		}
		o = run(t, h, worker(func(d *subagent.Definition) { d.MaxTime = 90 * time.Second }))
		require.Equal(t, subagent.Timeout, o.Reason, "the work itself counts")
	})
}

// A call that the user declines does not end the run.
func TestDeclined(t *testing.T) {
	b := bus.New(bus.Options{})
	defer b.Close()
	bus.Subscribe(t.Context(), b, func(_ context.Context, q bus.ToolConfirmationRequest) {
		_ = b.Publish(bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Outcome: bus.Cancel})
	})
	g := inOrder(calls("slow", `{}`), completes("another way"))
	h := newHost(g, tool(t, "slow", tools.KindExecute))
	h.bus = b
	o := run(t, h, worker())
	require.Equal(t, subagent.Goal, o.Reason)
	require.Contains(t, responsesIn(g.asked()[1]), "denied_by_user")
	require.False(t, o.Other)
}

// The end of ctx ends the run as aborted, and changes are still reported.
func TestAborted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	g := &generator{answer: func(n int, _ *model.Request) answer {
		if n == 0 {
			return calls("patch", `{}`)
		}
		cancel()
		return answer{wait: true}
	}}
	h := newHost(g, patch(t, "/w/b.go"))
	h.bus = approving(t)
	h.changed = []string{"/w/a.go", "/w/b.go"}
	r, err := execute(ctx, t, h, worker())
	require.ErrorIs(t, err, context.Canceled)
	require.Contains(t, r.LLMContent.String(), "Termination reason: ABORTED\nFiles changed")
	require.Contains(t, r.LLMContent.String(), "- /w/a.go\n- /w/b.go\n")
	require.Len(t, g.asked(), 2, "there is no last turn")
	require.Equal(t, 1, h.closed)
}

// approving is a bus with an approver that allows everything.
func approving(t *testing.T) *bus.MessageBus {
	b := bus.New(bus.Options{})
	t.Cleanup(func() { _ = b.Close() })
	bus.Subscribe(t.Context(), b, func(_ context.Context, q bus.ToolConfirmationRequest) {
		_ = b.Publish(bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Confirmed: true})
	})
	return b
}

// patch is a tool that changes a file.
func patch(t *testing.T, path string) tools.DeclarativeTool {
	made, err := tools.Define("patch", "A tool.", tools.KindEdit, func(context.Context, noArgs) (tools.Result, error) {
		return tools.Result{LLMContent: tools.Text("patched"), ReturnDisplay: tools.Display{Diff: &tools.FileDiff{FilePath: path}}}, nil
	})
	require.NoError(t, err)
	return made
}

// The caller receives the paths of the files that have changed.
func TestChangedFiles(t *testing.T) {
	h := newHost(inOrder(calls("patch", `{}`), completes("Done.")), patch(t, "/w/b.go"))
	h.bus = approving(t)
	h.changed = []string{"/w/a.go"}
	r, err := execute(t.Context(), t, h, worker())
	require.NoError(t, err)
	require.Nil(t, r.Error)
	require.Equal(t, "Agent: worker\nTermination reason: GOAL\n"+
		"Files changed (your knowledge of them is stale: read each again before you change it or rely on it):\n- /w/a.go\n- /w/b.go\nResult:\nDone.", r.LLMContent.String())
	require.Equal(t, "Done.", r.ReturnDisplay.Text)
}

// A change by a run inside another belongs to both.
func TestChangedWithin(t *testing.T) {
	h := newHost(nil, patch(t, "/w/deep.go"))
	h.bus = approving(t)
	h.models = func(d *subagent.Definition) *generator {
		if d.Name == "inner" {
			return inOrder(calls("patch", `{}`), completes("patched"))
		}
		return inOrder(calls("inner", `{"query":"x"}`), completes("ok"))
	}
	runner := subagent.NewRunner(subagent.Options{Host: h, Bus: h.bus, Depth: 2})
	inner, err := runner.Tool(worker(func(d *subagent.Definition) { d.Name = "inner" }))
	require.NoError(t, err)
	h.tools = append(h.tools, inner)
	o, err := runner.Run(t.Context(), worker(), json.RawMessage(`{"query":"go"}`))
	require.NoError(t, err)
	require.Equal(t, []string{"/w/deep.go"}, o.Changed)
}

// Concurrent runs are independent.
func TestSideBySide(t *testing.T) {
	h := newHost(nil, tool(t, "read_file", tools.KindRead))
	h.models = func(d *subagent.Definition) *generator {
		return inOrder(calls("read_file", `{"text":"`+d.Name+`"}`), completes("of "+d.Name))
	}
	runner := subagent.NewRunner(subagent.Options{Host: h})
	var all sync.WaitGroup
	for range 4 {
		for _, name := range []string{"one", "two", "three"} {
			all.Go(func() {
				o, err := runner.Run(t.Context(), worker(func(d *subagent.Definition) { d.Name = name }), json.RawMessage(`{"query":"x"}`))
				if err != nil || o.Text != "of "+name || o.Agent != name {
					t.Errorf("%s: %v %v", name, o, err)
				}
			})
		}
	}
	all.Wait()
	require.Equal(t, 12, h.closed)
}

// The activities of an agent are published on the bus, each call at its beginning and end.
func TestActivity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bus.New(bus.Options{})
		defer b.Close()
		var all []bus.Activity
		bus.Subscribe(t.Context(), b, func(_ context.Context, m bus.SubagentActivity) {
			require.Equal(t, "worker", m.SubagentName)
			all = append(all, m.Activity)
		})
		two := calls("read_file", `{"text":"a"}`)
		two.calls = append(two.calls, calls("nope", `{}`).calls[0])
		h := newHost(inOrder(two, completes("ok")), tool(t, "read_file", tools.KindRead))
		h.bus = b
		run(t, h, worker())
		synctest.Wait()
		require.Len(t, all, 4)
		require.Equal(t, `read_file {"text":"a"}`, all[0].Content)
		require.Equal(t, bus.ActivityRunning, all[0].Status)
		require.Equal(t, all[0].ID, all[2].ID)
		require.Equal(t, bus.ActivityCompleted, all[2].Status)
		require.Equal(t, bus.ActivityError, all[3].Status)
		require.Contains(t, all[3].Content, "Unauthorized")
	})
}

// A long report is cut, with a note for its reader.
func TestLongReport(t *testing.T) {
	o := run(t, newHost(inOrder(completes(strings.Repeat("é", 100)))), worker(), func(o *subagent.Options) { o.MaxReport = 51 })
	require.Equal(t, strings.Repeat("é", 25)+"\n[The report was cut here: it has 200 bytes, of which 50 are shown.]", o.Text)
}

// An agent may have arguments other than a query; the prompt can use them.
func TestInput(t *testing.T) {
	g := inOrder(completes("ok"))
	o, err := subagent.NewRunner(subagent.Options{Host: newHost(g)}).Run(t.Context(), worker(func(d *subagent.Definition) {
		d.Input = json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"lines":{"type":"array"}},"required":["path"]}`)
		d.Prompt = "Look at ${path} ${lines}."
	}), json.RawMessage(`{"path":"a.go","lines":[1,2]}`))
	require.NoError(t, err)
	require.Equal(t, subagent.Goal, o.Reason)
	require.True(t, strings.HasPrefix(g.asked()[0].System, "Look at a.go [1,2]."))
	require.Equal(t, `{"lines":[1,2],"path":"a.go"}`, g.asked()[0].Contents[0].Text())
}
