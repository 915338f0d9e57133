package hookrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/hooks/hookresult"
	"github.com/fettle-dev/fettle/core/internal/fuzzseed"
)

// answers runs commands with the outcomes that a test defines for each line.
type answers map[string]Outcome

func (a answers) exec(_ context.Context, c Command) (Outcome, error) {
	out, ok := a[c.Line]
	if !ok {
		return Outcome{}, errors.New("no such command")
	}
	return out, nil
}

func commands(e hooks.Event, lines ...string) []hooks.Hook {
	list := make([]hooks.Hook, len(lines))
	for i, line := range lines {
		list[i] = hooks.Hook{Event: e, Command: line, Source: hooks.SourceUser}
	}
	return list
}

func fire(t *testing.T, e hooks.Event, out ...Outcome) hookresult.Effect {
	t.Helper()
	a := answers{}
	var lines []string
	for i, o := range out {
		line := fmt.Sprint("h", i)
		a[line], lines = o, append(lines, line)
	}
	r := New(Options{Hooks: commands(e, lines...), Exec: a.exec})
	return r.Fire(t.Context(), hooks.Input{Event: e}, Subject{})
}

func outcome(code int, stdout, stderr string) Outcome {
	return Outcome{Code: code, Stdout: []byte(stdout), Stderr: []byte(stderr)}
}

// EX-09, EX-10: the effect of exit codes and output.
func TestOutcomes(t *testing.T) {
	for name, tt := range map[string]struct {
		out      Outcome
		decision hooks.Decision
		reason   string
		message  string
		warning  string // "" if none
		stop     string
	}{
		"nothing":          {out: outcome(0, "", "")},
		"text":             {out: outcome(0, " hi \n", "log"), message: "hi"},
		"text on stderr":   {out: outcome(0, "", "log"), message: "log"},
		"allow":            {out: outcome(0, `{"decision": "allow"}`, ""), decision: hooks.Allow},
		"approve":          {out: outcome(0, `{"decision": "Approve"}`, ""), decision: hooks.Allow},
		"deny":             {out: outcome(0, `{"decision": "deny", "reason": "r"}`, ""), decision: hooks.Block, reason: "r"},
		"block":            {out: outcome(0, `{"decision": "block"}`, ""), decision: hooks.Block, reason: noReason},
		"ask":              {out: outcome(0, `{"decision": "ask", "reason": "r"}`, ""), decision: hooks.Ask, reason: "r"},
		"JSON in JSON":     {out: outcome(0, `"{\"decision\": \"deny\", \"reason\": \"r\"}"`, ""), decision: hooks.Block, reason: "r"},
		"JSON on stderr":   {out: outcome(0, "", `{"decision": "deny", "reason": "r"}`), decision: hooks.Block, reason: "r"},
		"stop":             {out: outcome(0, `{"continue": false, "stopReason": "s"}`, ""), stop: "s"},
		"stop by reason":   {out: outcome(0, `{"continue": false, "reason": "r"}`, ""), stop: "r"},
		"goes on":          {out: outcome(0, `{"continue": true, "systemMessage": "m"}`, ""), message: "m"},
		"2":                {out: outcome(2, "out", "err"), decision: hooks.Block, reason: "err"},
		"2 on stdout":      {out: outcome(2, "out", ""), decision: hooks.Block, reason: "out"},
		"2 and nothing":    {out: outcome(2, "", ""), decision: hooks.Block, reason: noReason},
		"2 and allow":      {out: outcome(2, `{"decision": "allow"}`, "err"), decision: hooks.Block, reason: "err"},
		"2 and a reason":   {out: outcome(2, `{"reason": "better", "systemMessage": "m"}`, "err"), decision: hooks.Block, reason: "better", message: "m"},
		"1":                {out: outcome(1, "out", ""), warning: "exit code 1"},
		"3":                {out: outcome(3, "", "err"), warning: "exit code 3"},
		"1 and deny":       {out: outcome(1, `{"decision": "deny", "reason": "r"}`, ""), decision: hooks.Block, reason: "r", warning: "exit code 1"},
		"3 and ask":        {out: outcome(3, `{"decision": "ask", "reason": "r"}`, ""), decision: hooks.Ask, reason: "r", warning: "exit code 3"},
		"1 and allow":      {out: outcome(1, `{"decision": "allow", "hookSpecificOutput": {"tool_input": {}}}`, ""), warning: "exit code 1"},
		"signal":           {out: Outcome{Code: -1, Signal: "SIGKILL"}, warning: "SIGKILL"},
		"time":             {out: Outcome{Code: -1, Signal: "SIGTERM", TimedOut: true}, warning: "time limit"},
		"time and 2":       {out: Outcome{Code: 2, TimedOut: true}, warning: "time limit"},
		"time and deny":    {out: Outcome{Code: -1, TimedOut: true, Stdout: []byte(`{"decision":"deny","reason":"r"}`)}, decision: hooks.Block, reason: "r", warning: "time limit"},
		"half JSON":        {out: outcome(0, `{"decision": `, ""), warning: "invalid JSON object"},
		"invalid UTF-8":    {out: outcome(0, "\xff\x00", ""), warning: "invalid UTF-8"},
		"moved away":       {out: Outcome{Removed: []string{"/w/.env"}}, warning: "/w/.env"},
		"not moved away":   {out: Outcome{Removed: []string{"/w/.env"}, RemoveError: errors.New("disk full")}, warning: "disk full"},
		"much":             {out: Outcome{Stdout: []byte("x"), Dropped: 7}, message: "x", warning: "7 bytes"},
		"wrong types":      {out: outcome(0, `{"continue": "no", "stopReason": 1, "systemMessage": [], "reason": {}, "hookSpecificOutput": 3}`, ""), stop: "The hook's value of continue is invalid.", warning: "It counts as false"},
		"no decision":      {out: outcome(0, `{"decision": "dney"}`, ""), decision: hooks.Ask, reason: noReason, warning: "counts as ask"},
		"decision of 7":    {out: outcome(0, `{"decision": 7}`, ""), decision: hooks.Ask, reason: noReason, warning: "counts as ask"},
		"null decision":    {out: outcome(0, `{"decision": null}`, "")},
		"misspelt":         {out: outcome(0, `{"decison": "deny"}`, ""), warning: "Did you mean decision"},
		"a list":           {out: outcome(0, `[1]`, ""), warning: "not an object"},
		"null":             {out: outcome(0, `null`, ""), warning: "not an object"},
		"a quoted text":    {out: outcome(0, `"x"`, ""), warning: "not an object"},
		"permission":       {out: outcome(0, `{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "r"}}`, ""), decision: hooks.Block, reason: "r"},
		"to ask":           {out: outcome(0, `{"hookSpecificOutput": {"permissionDecision": "ask"}}`, ""), decision: hooks.Ask, reason: noReason},
		"permission given": {out: outcome(0, `{"hookSpecificOutput": {"permissionDecision": "allow"}}`, "")},
		"permission of 7":  {out: outcome(0, `{"hookSpecificOutput": {"permissionDecision": 7}}`, ""), decision: hooks.Ask, reason: noReason, warning: "counts as ask"},
		"a very long text": {out: outcome(0, strings.Repeat("x", 2*maxPlain), ""), message: strings.Repeat("x", maxPlain) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			e := fire(t, hooks.BeforeTool, tt.out)
			require.Equal(t, tt.decision, e.Decision)
			require.Equal(t, tt.reason, e.Reason)
			require.Equal(t, tt.stop, e.StopReason)
			require.Equal(t, tt.stop != "", e.Stop)
			if tt.message == "" {
				require.Empty(t, e.Messages)
			} else {
				require.Equal(t, tt.message, e.Messages[0].Text)
			}
			var warnings []string
			for _, w := range Warnings(&e) {
				warnings = append(warnings, w.Text)
			}
			if tt.warning == "" {
				require.Empty(t, warnings)
			} else {
				require.Contains(t, strings.Join(warnings, "\n"), tt.warning)
			}
			if r := e.Ran[0]; r.Exit != 0 || r.Signal != "" || r.TimedOut {
				require.Zero(t, e.Ran[0].Output.Specific)
			}
		})
	}
}

// EX-09: invalid output denies at gating events and has no effect elsewhere; approval is
// requested for calls only. All of it is reported.
func TestOdd(t *testing.T) {
	for _, e := range hooks.Events() {
		for text, waits := range map[string]bool{
			`{"decision": "dney"}`: true, `{"decision": 7}`: true, `{"continue": "false"}`: true, `{"decision": "ask"}`: false,
			`{"hookSpecificOutput": {"permissionDecision": "deny"}}`: false,
		} {
			if e == hooks.BeforeTool {
				continue // see TestOutcomes
			}
			got := fire(t, e, outcome(0, text, ""))
			gate := e == hooks.AfterTool || e == hooks.BeforeAgent || e == hooks.BeforeModel || e == hooks.AfterModel
			require.Equal(t, gate && waits, got.Decision == hooks.Block || got.Stop, "%s: %s", e, text)
			require.False(t, got.Decision == hooks.Ask, "%s: %s", e, text)
			require.NotEmpty(t, Warnings(&got), "%s: %s", e, text)
		}
	}
	function := hooks.Hook{Event: hooks.BeforeModel, Run: func(context.Context, hooks.Input) (hooks.Output, error) { return hooks.Output{Decision: "dney"}, nil }}
	got := New(Options{Hooks: []hooks.Hook{function}}).Fire(t.Context(), hooks.Input{Event: hooks.BeforeModel}, Subject{})
	require.Equal(t, hooks.Block, got.Decision)
	require.NotEmpty(t, Warnings(&got))
}

// The hooks that have changed a call are named.
func TestRewriters(t *testing.T) {
	rewrite := outcome(0, `{"hookSpecificOutput": {"tool_input": {}}}`, "")
	got := fire(t, hooks.BeforeTool, rewrite, outcome(0, `{"decision": "ask"}`, ""), rewrite)
	require.Equal(t, "h0, h2", got.Rewriters)
	require.Equal(t, "h1", got.By)
}

// EX-09: the strictest decision wins, in any order; texts are joined.
func TestMerge(t *testing.T) {
	allow, ask := outcome(0, `{"decision": "allow", "reason": "a"}`, ""), outcome(0, `{"decision": "ask", "reason": "q"}`, "")
	deny, deny2 := outcome(0, `{"decision": "deny", "reason": "d", "systemMessage": "m"}`, ""), outcome(2, "", "e")
	for _, list := range [][]Outcome{{allow, ask, deny, deny2}, {deny, allow, deny2, ask}, {deny, deny2, allow}} {
		e := fire(t, hooks.BeforeTool, list...)
		require.Equal(t, hooks.Block, e.Decision)
		require.Equal(t, "d\ne", e.Reason)
	}
	e := fire(t, hooks.BeforeTool, allow, ask)
	require.Equal(t, hooks.Ask, e.Decision)
	require.Equal(t, "q", e.Reason)
	require.Equal(t, "h1", e.By)

	specific := func(text string) Outcome { return outcome(0, `{"hookSpecificOutput": `+text+`}`, "") }
	e = fire(t, hooks.AfterTool, specific(`{"additionalContext": "a", "clearContext": false, "tool_input": {"a": 1, "b": 1}}`),
		specific(`{"additionalContext": "b", "clearContext": true, "tool_input": {"b": 2, "c": null}, "tailToolCallRequest": {"name": "t", "args": {}}}`))
	require.Equal(t, "a\nb", e.AdditionalContext)
	require.True(t, e.ClearContext)
	require.JSONEq(t, `{"a": 1, "b": 2, "c": null}`, string(e.ToolInput))
	require.JSONEq(t, `{"a": 1, "b": 2}`, string(Overlay(json.RawMessage(`{"a": 0, "c": 3}`), e.ToolInput)))
	require.Equal(t, "t", e.TailToolCall.Name)

	e = fire(t, hooks.BeforeToolSelection, specific(`{"toolConfig": {"mode": "any", "allowedFunctionNames": ["b", "a"]}}`),
		specific(`{"toolConfig": {"mode": "AUTO", "allowedFunctionNames": ["c", "a"]}}`))
	require.Equal(t, &hooks.ToolConfig{Mode: ToolsAny, AllowedFunctionNames: []string{"a", "b", "c"}}, e.ToolConfig)
	e = fire(t, hooks.BeforeToolSelection, specific(`{"toolConfig": {"mode": "NONE"}}`), specific(`{"toolConfig": {"mode": "ANY", "allowedFunctionNames": ["c"]}}`))
	require.Equal(t, &hooks.ToolConfig{Mode: ToolsNone}, e.ToolConfig)

	e = fire(t, hooks.SessionEnd, outcome(2, "", "no"))
	require.Contains(t, Warnings(&e)[0].Text, "cannot be stopped")
}

// EX-07: hooks run concurrently, unless one of them is sequential.
func TestSideBySide(t *testing.T) {
	var together sync.WaitGroup
	together.Add(3)
	meet := func(ctx context.Context, _ Command) (Outcome, error) {
		together.Done()
		together.Wait() // until all three have started
		return Outcome{}, nil
	}
	list := commands(hooks.BeforeTool, "a", "b", "c")
	require.Len(t, New(Options{Hooks: list, Exec: meet}).Fire(t.Context(), hooks.Input{Event: hooks.BeforeTool}, Subject{}).Ran, 3)

	list[1].Sequential = true
	var running, most atomic.Int32
	var order []string
	alone := func(_ context.Context, c Command) (Outcome, error) {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		order = append(order, c.Line)
		return Outcome{}, nil
	}
	New(Options{Hooks: list, Exec: alone}).Fire(t.Context(), hooks.Input{Event: hooks.BeforeTool}, Subject{})
	require.EqualValues(t, 1, most.Load())
	require.Equal(t, []string{"a", "b", "c"}, order)
}

// The next hook receives the changes of a sequential hook, unless that has failed.
func TestChain(t *testing.T) {
	var told []hooks.Input
	outputs := []Outcome{}
	exec := func(_ context.Context, c Command) (Outcome, error) {
		var in hooks.Input
		require.NoError(t, json.Unmarshal(c.Stdin, &in))
		told = append(told, in)
		return outputs[len(told)-1], nil
	}
	run := func(in hooks.Input, out ...Outcome) {
		told, outputs = nil, out
		list := commands(in.Event, "a", "b", "c")
		list[0].Sequential = true
		New(Options{Hooks: list, Exec: exec}).Fire(t.Context(), in, Subject{})
		require.Len(t, told, 3)
	}
	specific := func(code int, text string) Outcome { return outcome(code, `{"hookSpecificOutput": `+text+`}`, "") }
	run(hooks.Input{Event: hooks.BeforeTool, ToolInput: json.RawMessage(`{"a":1,"b":1}`)}, specific(0, `{"tool_input": {"b": null}}`), specific(1, `{"tool_input": {"a": 2}}`), Outcome{})
	require.JSONEq(t, `{"a":1}`, string(told[1].ToolInput))
	require.JSONEq(t, `{"a":1}`, string(told[2].ToolInput))
	prompt := "p"
	run(hooks.Input{Event: hooks.BeforeAgent, Prompt: &prompt}, specific(0, `{"additionalContext": "c"}`), Outcome{}, Outcome{})
	require.Equal(t, "p\n\nc", *told[2].Prompt)
	run(hooks.Input{Event: hooks.BeforeModel, LLMRequest: &hooks.LLMRequest{Model: "m", Messages: []hooks.LLMMessage{{Role: "user", Content: "x"}}}},
		specific(0, `{"llm_request": {"model": "n"}}`), specific(0, `{"llm_request": {"messages": 3}}`), Outcome{})
	require.Equal(t, "n", told[2].LLMRequest.Model)
	require.Equal(t, "x", told[2].LLMRequest.Messages[0].Content)
}

// Hooks run in the order of sources; an equal hook runs once, and the user's takes
// precedence over the project's.
func TestSelect(t *testing.T) {
	list := []hooks.Hook{
		{Event: hooks.BeforeTool, Command: "e", Source: hooks.SourceExtension}, {Event: hooks.BeforeTool, Command: "s", Source: hooks.SourceSystem},
		{Event: hooks.BeforeTool, Command: "u", Source: hooks.SourceUser, Env: map[string]string{"A": "user"}},
		{Event: hooks.BeforeTool, Command: "u", Source: hooks.SourceProject, Env: map[string]string{"A": "project"}},
		{Event: hooks.BeforeTool, Command: "u", Source: hooks.SourceSystem}, {Event: hooks.BeforeTool, Command: "u", Name: "other", Source: hooks.SourceUser},
		{Event: hooks.BeforeTool, Name: "f", Run: func(context.Context, hooks.Input) (hooks.Output, error) { return hooks.Output{}, nil }},
		{Event: hooks.BeforeTool, Command: "off", Source: hooks.SourceUser}, {Event: hooks.BeforeTool, Name: "named off", Command: "x", Source: hooks.SourceUser},
	}
	r := New(Options{Hooks: list, Off: []string{"off", "named off", ""}})
	var got []string
	for _, h := range r.Select(hooks.BeforeTool, Subject{}) {
		got = append(got, string(h.Source)+" "+h.Label()+" "+h.Env["A"])
	}
	require.Equal(t, []string{"runtime f ", "user u user", "user other ", "system s ", "extension e "}, got)
	require.Len(t, r.Hooks(), len(list))
	require.True(t, r.Any(hooks.BeforeTool))
	require.False(t, r.Any(hooks.AfterTool))
	require.False(t, (*Runner)(nil).Any(hooks.BeforeTool))
	require.False(t, New(Options{Hooks: commands(hooks.AfterTool, "off"), Off: []string{"off"}}).Any(hooks.AfterTool))
}

// A hook that the gate refuses does not run.
func TestGate(t *testing.T) {
	r := New(Options{Hooks: commands(hooks.BeforeTool, "a", "b"), Exec: answers{"b": outcome(2, "", "r")}.exec,
		Gate: func(_ context.Context, h *hooks.Hook) bool { return h.Command == "b" }})
	e := r.Fire(t.Context(), hooks.Input{Event: hooks.BeforeTool}, Subject{})
	require.Len(t, e.Ran, 1)
	require.Equal(t, hooks.Block, e.Decision)
}

// Functions have the same inputs and outputs; one of BeforeTool that fails denies.
func TestFunctions(t *testing.T) {
	var defects []error
	fire := func(e hooks.Event, f func(context.Context, hooks.Input) (hooks.Output, error)) hookresult.Effect {
		r := New(Options{Hooks: []hooks.Hook{{Event: e, Name: "f", Run: f}}, OnDefect: func(err error) { defects = append(defects, err) }})
		return r.Fire(t.Context(), hooks.Input{Event: e, ToolName: "t"}, Subject{})
	}
	e := fire(hooks.BeforeTool, func(_ context.Context, in hooks.Input) (hooks.Output, error) {
		return hooks.Output{Decision: hooks.Ask, Reason: in.ToolName}, nil
	})
	require.Equal(t, hooks.Ask, e.Decision)
	require.Equal(t, "t", e.Reason)
	fails := func(context.Context, hooks.Input) (hooks.Output, error) {
		return hooks.Output{Decision: hooks.Allow}, errors.New("broken")
	}
	panics := func(context.Context, hooks.Input) (hooks.Output, error) { panic("oh") }
	for _, f := range []func(context.Context, hooks.Input) (hooks.Output, error){fails, panics} {
		require.Equal(t, hooks.Block, fire(hooks.BeforeTool, f).Decision)
		e = fire(hooks.AfterTool, f)
		require.Empty(t, e.Decision)
		require.Len(t, Warnings(&e), 1)
	}
	require.Len(t, defects, 2)
	require.Contains(t, defects[0].Error(), "goroutine")

	slow := func(ctx context.Context, _ hooks.Input) (hooks.Output, error) {
		<-ctx.Done()
		return hooks.Output{}, ctx.Err()
	}
	r := New(Options{Hooks: []hooks.Hook{{Event: hooks.BeforeTool, Name: "f", Run: slow, Timeout: time.Millisecond}}})
	require.Equal(t, hooks.Block, r.Fire(t.Context(), hooks.Input{Event: hooks.BeforeTool}, Subject{}).Decision)
}

// An ended context ends hooks, which is not a failure.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	exec := func(ctx context.Context, _ Command) (Outcome, error) {
		cancel()
		<-ctx.Done()
		return Outcome{Code: -1, Signal: "SIGTERM"}, nil
	}
	list := commands(hooks.AfterTool, "a", "b")
	list[0].Sequential = true
	e := New(Options{Hooks: list, Exec: exec}).Fire(ctx, hooks.Input{Event: hooks.AfterTool}, Subject{})
	require.Len(t, e.Ran, 2)
	require.Empty(t, Warnings(&e))
}

// EX-08: the input of a hook, its environment and its time limit.
func TestInput(t *testing.T) {
	var got Command
	r := New(Options{
		Hooks: []hooks.Hook{{Event: hooks.SessionStart, Command: "c", Env: map[string]string{"B": "2", "A": "1"}}},
		Exec:  func(_ context.Context, c Command) (Outcome, error) { got = c; return Outcome{}, nil },
		Env:   func(in hooks.Input) []string { return []string{"SESSION=" + in.SessionID} },
	})
	at := time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC)
	r.Fire(t.Context(), hooks.Input{SessionID: "s", CWD: "/<w>", Event: hooks.SessionStart, Timestamp: at, Source: "startup"}, Subject{Text: "startup"})
	require.Equal(t, `{"session_id":"s","transcript_path":"","cwd":"/<w>","hook_event_name":"SessionStart","timestamp":"2026-01-02T03:04:05.006Z","source":"startup"}`+"\n", string(got.Stdin))
	require.Equal(t, []string{"SESSION=s", "A=1", "B=2"}, got.Env)
	require.Equal(t, hooks.DefaultTimeout, got.Limit)
}

// No output makes the reader panic or allows a call that another hook denies.
func FuzzOutput(f *testing.F) {
	fuzzseed.Add(f)
	for _, seed := range []string{`{"decision":"deny"}`, `{"continue":false}`, `{"hookSpecificOutput":{"toolConfig":{"mode":"ANY"}}}`, "x", "\"{}\"",
		`{"hookSpecificOutput":{"tailToolCallRequest":{"name":1}}}`, `{"decision":"allow","decision":null}`} {
		f.Add([]byte(seed), 0)
		f.Add([]byte(seed), 2)
	}
	f.Fuzz(func(t *testing.T, data []byte, code int) {
		for _, e := range []hooks.Event{hooks.BeforeTool, hooks.BeforeToolSelection} {
			ran := make([]ran, 2)
			for i := range ran {
				ran[i].Hook = &hooks.Hook{Command: "c"}
			}
			ran[0].understand(e, Outcome{Code: code, Stdout: data})
			ran[1].understand(e, outcome(2, "", "no"))
			effect := merge(e, ran)
			require.Equal(t, hooks.Block, effect.Decision)
			require.True(t, slices.Contains(strings.Split(effect.Reason, "\n"), "no"))
			if code == 2 {
				require.Equal(t, hooks.Block, ran[0].Output.Decision)
			}
		}
	})
}
