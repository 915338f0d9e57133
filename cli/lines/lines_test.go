package lines

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// spoken is a session whose answers the test supplies.
type spoken struct {
	bus    *bus.MessageBus
	submit func(ctx context.Context, text string, send func(interactive.Event))
	got    []string // the submitted inputs
}

func (s *spoken) Start(context.Context) iter.Seq[interactive.Event] {
	return func(yield func(interactive.Event) bool) {
		yield(interactive.Event{Kind: interactive.EventMessage, Level: interactive.LevelWarning, Text: "a notice"})
	}
}

func (s *spoken) Submit(ctx context.Context, text string) iter.Seq[interactive.Event] {
	return func(yield func(interactive.Event) bool) {
		s.got = append(s.got, text)
		if s.submit != nil {
			s.submit(ctx, text, func(e interactive.Event) { yield(e) })
		}
	}
}

func (s *spoken) Complete(context.Context, string, int) interactive.Completions {
	return interactive.Completions{}
}

func (s *spoken) Status() interactive.Status {
	return interactive.Status{Product: "fettle", Version: "1.2.3", Model: "script", Mode: "default", Dir: "~/w", Branch: "main"}
}
func (s *spoken) CycleMode() (string, error) { return "", nil }
func (s *spoken) Attach(context.Context, string, []byte) (string, error) {
	return "", nil
}
func (s *spoken) Inputs() []string     { return nil }
func (s *spoken) Bus() *bus.MessageBus { return s.bus }

// shownTo is an output that a test waits for.
type shownTo struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // capacity 1: something was written since
}

func (s *shownTo) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
	return s.text.Write(p)
}

func (s *shownTo) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// until waits until a text was printed the given number of times.
func (s *shownTo) until(t *testing.T, text string, times int) {
	t.Helper()
	for deadline := time.After(30 * time.Second); strings.Count(s.String(), text) < times; {
		select {
		case <-s.more:
		case <-deadline:
			t.Fatalf("%q is not shown %d times in\n%s", text, times, s)
		}
	}
}

// byLines runs a session line by line while a test types and presses Ctrl-C.
type byLines struct {
	*spoken
	out       *shownTo
	in        *io.PipeWriter
	interrupt chan os.Signal
	done      chan struct{}
}

func leadLines(t *testing.T, s *spoken, first string) *byLines {
	t.Helper()
	s.bus = bus.New(bus.Options{})
	in, typed := io.Pipe()
	b := &byLines{spoken: s, out: &shownTo{more: make(chan struct{}, 1)}, in: typed, interrupt: make(chan os.Signal), done: make(chan struct{})}
	l := newLines(Options{Session: s, In: in, Out: b.out}, b.interrupt)
	go func() {
		defer close(b.done)
		defer l.attach(t.Context())()
		l.lead(t.Context(), first)
	}()
	t.Cleanup(func() {
		_ = typed.Close()
		<-b.done
		_ = s.bus.Close()
	})
	return b
}

func (b *byLines) types(t *testing.T, text string) {
	t.Helper()
	_, err := io.WriteString(b.in, text)
	require.NoError(t, err)
}

// ends waits for the end of the session.
func (b *byLines) ends(t *testing.T) string {
	t.Helper()
	select {
	case <-b.done:
	case <-time.After(30 * time.Second):
		t.Fatalf("it goes on:\n%s", b.out)
	}
	require.NotContains(t, b.out.String(), "\x1b")
	return b.out.String()
}

func agentEvent(e agent.Event) interactive.Event {
	return interactive.Event{Kind: interactive.EventAgent, Agent: &e}
}

// GO-08: several inputs, also over several lines, until the end of input.
func TestLines(t *testing.T) {
	s := &spoken{submit: func(_ context.Context, text string, send func(interactive.Event)) {
		send(interactive.Event{Kind: interactive.EventPrompt, Text: text})
		for piece := range strings.SplitAfterSeq("**Hi**, "+text, " ") {
			send(agentEvent(agent.Event{Type: agent.EventText, Text: piece}))
		}
		send(agentEvent(agent.Event{Type: agent.EventDone}))
	}}
	b := leadLines(t, s, "zero")
	b.types(t, "one\n")
	b.types(t, "\n   \n")
	b.types(t, "two \\\n three\\\nfour\n")
	b.types(t, "last")
	require.NoError(t, b.in.Close())
	require.Equal(t, `warning: a notice
fettle 1.2.3, script, mode default, in ~/w (main)
/help lists the commands; Ctrl-D ends the session.
**Hi**, zero
> one
**Hi**, one
> 
>    
> two \
...  three\
... four
**Hi**, two 
 three
four
> last
**Hi**, last
> 
`, b.ends(t))
	require.Equal(t, []string{"zero", "one", "two \n three\nfour", "last"}, s.got)
}

// Every kind of event is printed as lines of plain text, whatever its content.
func TestLinesEvents(t *testing.T) {
	bad := "x\x1b[2J\x1b]0;t\ay\u202e\u009bz"
	events := []interactive.Event{
		{Kind: interactive.EventPrompt, Text: "another " + bad},
		agentEvent(agent.Event{Type: agent.EventModel, Text: bad}),
		agentEvent(agent.Event{Type: agent.EventThought, Thought: &agent.Thought{Subject: "Thinking " + bad}}),
		agentEvent(agent.Event{Type: agent.EventText, Text: "text " + bad}),
		agentEvent(agent.Event{Type: agent.EventCitation, Text: bad}),
		agentEvent(agent.Event{Type: agent.EventWarning, Text: bad}),
		agentEvent(agent.Event{Type: agent.EventRetry, Retry: &agent.RetryInfo{Wait: time.Second, Reason: fault.New(fault.ModelError, "x", bad, "")}}),
		agentEvent(agent.Event{Type: agent.EventFinished, Finish: model.FinishMaxTokens}),
		agentEvent(agent.Event{Type: agent.EventError, Err: fault.New(fault.ModelError, "x", "Broken "+bad, "Mend it.")}),
		agentEvent(agent.Event{Type: agent.EventCancelled}),
		agentEvent(agent.Event{Type: agent.EventStopped, Text: bad}),
		agentEvent(agent.Event{Type: agent.EventBlocked, Text: bad}),
		agentEvent(agent.Event{Type: agent.EventLimit}),
		{Kind: interactive.EventMessage, Level: interactive.LevelInfo, Text: "info " + bad},
		{Kind: interactive.EventMessage, Level: interactive.LevelError, Text: "grave " + bad},
		{Kind: interactive.EventWorking, Text: "reading " + bad},
		{Kind: interactive.EventWorking},
		{Kind: interactive.EventShell, Text: "\x1b[31mred\x1b[0m " + bad},
		{Kind: interactive.EventClear},
		{Kind: interactive.EventHistory, History: []interactive.Item{{Role: "user", Text: bad}, {Role: "assistant", Text: bad}, {Role: "tool", Name: "read_file", Text: bad, OK: true, Status: "success"}, {Role: "tool", Name: "edit", Status: "error"}, {Role: "tool", Name: "glob", Status: "cancelled"}, {Role: "notice", Text: "Interrupted."}}},
		{Kind: interactive.EventDialog, Title: "Title", Text: bad},
		{Kind: interactive.EventPick, Pick: &interactive.Pick{Title: "Models", Usage: "/model NAME selects one.", Items: []interactive.PickItem{
			{Name: "one", State: "current", Description: bad, Selected: true}, {Name: "two"},
		}}},
		{Kind: interactive.EventPick, Pick: &interactive.Pick{Title: "Sessions", Empty: "None yet."}},
		{Kind: interactive.EventCopy, Text: bad},
		{Kind: interactive.EventQuit, Text: "Bye " + bad},
	}
	s := &spoken{submit: func(_ context.Context, _ string, send func(interactive.Event)) {
		for _, e := range events {
			send(e)
		}
	}}
	shown := leadLines(t, s, "go").ends(t)
	for _, want := range []string{
		"[prompt] another x<U+001B>[2J", "[thinking] Thinking", "text x<U+001B>", "sources:\n", "warning: x<", "error: Broken x<U+001B>[2J<U+001B>]0;t<U+0007>y<U+202E><U+009B>z",
		"Mend it.", "[called off]", "error: The prompt was refused", "error: max_session_turns", "info x<", "error: grave", "[working] reading", "red x", "[new conversation]",
		"> x<U+001B>", "[read_file] x<", "[edit] failed", "[glob] called off\n", "[Interrupted.]\n", "Title\n\nx<", "Models\n* one (current): x<", "\n  two\n/model NAME selects one.\n", "Sessions\n  None yet.\n", "[copy this text]\n", "Bye x<",
	} {
		require.Contains(t, shown, want)
	}
}

// A call prints a line before and a line after its output.
func TestLinesCalls(t *testing.T) {
	call := &model.FunctionCall{ID: "1", Name: "run_shell_command", Args: json.RawMessage(`{"command": "make \u001b[2J"}`)}
	s := &spoken{}
	s.submit = func(_ context.Context, _ string, send func(interactive.Event)) {
		send(agentEvent(agent.Event{Type: agent.EventText, Text: "I make it."}))
		for _, r := range []scheduler.Response{
			{Status: scheduler.StatusSuccess, Params: call.Args, Result: tools.Result{ReturnDisplay: tools.TextDisplay("all is made")}},
			{Status: scheduler.StatusError, Params: call.Args, Result: tools.Fail(fault.New(fault.ExecutionFailed, "x", "It broke.", ""))},
			{Status: scheduler.StatusDenied, Result: tools.Fail(fault.New(fault.DeniedByUser, "x", "Not now.", ""))},
			{Status: scheduler.StatusSuccess, Params: call.Args, Result: tools.Result{ReturnDisplay: tools.Display{Diff: &tools.FileDiff{FilePath: "/w/f", FileDiff: "@@ -1 +1,2 @@\n-a\n+b\n+c\n"}}}},
		} {
			send(agentEvent(agent.Event{Type: agent.EventToolCall, Call: call}))
			if r.Params != nil {
				require.NoError(t, s.bus.Publish(bus.ToolOutput{CallID: "1", Chunk: "cc a.c\x1b[1mbold\x1b[0m\n"}))
				require.NoError(t, s.bus.Publish(bus.ToolOutput{CallID: "1", Chunk: "no line feed"}))
				require.NoError(t, s.bus.Publish(bus.ToolCallsUpdate{ToolCalls: []bus.ToolCallState{{CallID: "1", Status: bus.StatusSuccess}}}))
			}
			send(agentEvent(agent.Event{Type: agent.EventToolResponse, Call: call, Response: &r}))
		}
		send(interactive.Event{Kind: interactive.EventQuit})
	}
	shown := leadLines(t, s, "go").ends(t)
	const begin = `[run_shell_command] {"command": "make \u001b[2J"}` + "\n"
	const printed = "cc a.cbold\nno line feed\n"
	require.Contains(t, shown, "I make it.\n"+
		begin+printed+"[run_shell_command] done: all is made\n"+
		begin+printed+"[run_shell_command] failed: It broke.\n"+
		begin+"[run_shell_command] denied: Not now.\n"+
		begin+printed+"[run_shell_command] done: /w/f +2 \u22121\n")
}

// TX-04: the result of a set is printed with the files and the numbers of their lines,
// also for an earlier conversation.
func TestLinesSet(t *testing.T) {
	set := tools.TextDisplay("update a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n-a\n+b\n+c\n\ndelete b\x1b.txt\n--- a/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n")
	const printed = "2 files +2 \u22122\n  update a.txt +2 \u22121\n  delete b<U+001B>.txt +0 \u22121\n"
	data, err := json.Marshal(set)
	require.NoError(t, err)
	s := &spoken{submit: func(_ context.Context, _ string, send func(interactive.Event)) {
		call := &model.FunctionCall{ID: "1", Name: "apply_patch", Args: json.RawMessage("{}")}
		send(agentEvent(agent.Event{Type: agent.EventToolCall, Call: call}))
		send(agentEvent(agent.Event{Type: agent.EventToolResponse, Call: call, Response: &scheduler.Response{Status: scheduler.StatusSuccess, Result: tools.Result{ReturnDisplay: set}}}))
		send(interactive.Event{Kind: interactive.EventHistory, History: []interactive.Item{{Role: "tool", Name: "apply_patch", Text: "Patch 2 files", OK: true, Status: "success", Display: data}}})
		send(interactive.Event{Kind: interactive.EventQuit})
	}}
	shown := leadLines(t, s, "go").ends(t)
	require.Contains(t, shown, "[apply_patch] done: "+printed+"[apply_patch] Patch 2 files: done: "+printed)
}

// The calls of a subagent are printed once each with its name, and a call that plan
// mode only previewed as not run.
func TestLinesSubagentCalls(t *testing.T) {
	call := &model.FunctionCall{ID: "1", Name: "reviewer", Args: json.RawMessage(`{}`)}
	s := &spoken{}
	s.submit = func(_ context.Context, _ string, send func(interactive.Event)) {
		send(agentEvent(agent.Event{Type: agent.EventToolCall, Call: call}))
		read := bus.ToolCallState{CallID: "r", Name: "read_file", Description: "a\x1b.go", Subagent: "reviewer", Status: bus.StatusSuccess}
		edit := bus.ToolCallState{CallID: "w", Name: "write_file", Description: "b.go", Subagent: "reviewer", Status: bus.StatusValidating}
		require.NoError(t, s.bus.Publish(bus.ToolCallsUpdate{SchedulerID: "sub", ToolCalls: []bus.ToolCallState{read, edit}}))
		edit.Status, edit.Preview = bus.StatusSuccess, true
		require.NoError(t, s.bus.Publish(bus.ToolCallsUpdate{SchedulerID: "sub", ToolCalls: []bus.ToolCallState{read, edit}}))
		require.NoError(t, s.bus.Publish(bus.ToolCallsUpdate{ToolCalls: []bus.ToolCallState{{CallID: "1", Status: bus.StatusSuccess}}}))
		send(agentEvent(agent.Event{Type: agent.EventToolResponse, Call: call, Response: &scheduler.Response{Status: scheduler.StatusSuccess, Params: call.Args}}))
		send(interactive.Event{Kind: interactive.EventQuit})
	}
	shown := leadLines(t, s, "go").ends(t)
	require.Contains(t, shown, "[reviewer] {}\n  [reviewer: read_file] a<U+001B>.go: done\n  [reviewer: write_file] b.go: plan: not run\n[reviewer] done\n")
}

// A request during a turn is answered with a line; the next line is the next input.
func TestLinesQuestion(t *testing.T) {
	s := &spoken{}
	s.submit = func(ctx context.Context, text string, send func(interactive.Event)) {
		if text != "go" {
			return
		}
		answer, err := bus.Ask(ctx, s.bus, bus.ToolConfirmationRequest{
			ToolCall: bus.ToolCall{Name: "run_shell_command"},
			Details:  bus.Confirmation{Type: confirmation.Exec, Title: "Run it?", ExecDetails: &confirmation.ExecDetails{Command: "make\x1b[2J"}},
			Outcomes: []bus.Outcome{bus.ProceedOnce, bus.Cancel},
		})
		require.NoError(t, err)
		send(interactive.Event{Kind: interactive.EventMessage, Text: "It is " + string(answer.Outcome) + answer.Payload.Feedback})
	}
	b := leadLines(t, s, "go")
	b.out.until(t, "[n]o > ", 1)
	b.types(t, "n do it otherwise\n")
	b.out.until(t, "It is canceldo it otherwise\n> ", 1)
	b.types(t, "thanks\n")
	require.NoError(t, b.in.Close())
	b.ends(t)
	require.Equal(t, []string{"go", "thanks"}, s.got)
}

// Ctrl-C cancels only the running turn; at the prompt, two of them leave, and one
// drops the text typed so far.
func TestLinesInterrupted(t *testing.T) {
	s := &spoken{submit: func(ctx context.Context, text string, send func(interactive.Event)) {
		if text == "wait" {
			<-ctx.Done()
			send(agentEvent(agent.Event{Type: agent.EventCancelled}))
		}
	}}
	b := leadLines(t, s, "")
	b.types(t, "wait\n")
	b.out.until(t, "> wait\n", 1)
	b.interrupt <- os.Interrupt
	b.out.until(t, "[called off]\n> ", 1)
	b.types(t, "on\n")
	b.out.until(t, "> on\n> ", 1)
	b.interrupt <- os.Interrupt
	b.out.until(t, "Press Ctrl-C again, or Ctrl-D, to leave.\n> ", 1)
	b.types(t, "stay \\\n")
	b.out.until(t, "... ", 1)
	b.interrupt <- os.Interrupt
	b.out.until(t, "to leave.\n> ", 2)
	b.types(t, "here\n")
	b.out.until(t, "> here\n> ", 1)
	b.interrupt <- os.Interrupt
	b.out.until(t, "to leave.\n> ", 3)
	b.interrupt <- os.Interrupt
	b.ends(t)
	require.Equal(t, []string{"wait", "on", "here"}, s.got)
}
