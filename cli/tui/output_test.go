package tui

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/cli/tui/pager"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	details "github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/policy"
)

func running(id string) bus.ToolCallsUpdate {
	return bus.ToolCallsUpdate{ToolCalls: []bus.ToolCallState{{CallID: id, Name: "run_shell_command", Status: bus.StatusExecuting, StartTime: noon}}}
}

// Of live output of 10,000 lines and more, only the last lines are kept, and not
// every line costs a frame.
func TestLiveOutput(t *testing.T) {
	r := newRig(t, newFake())
	publish(r, running("1"))
	r.sees("running")
	views := r.views
	for i := range 10_000 {
		r.m.h.box.post(outputMsg{call: "1", text: fmt.Sprintf("line %d\n", i+1)})
	}
	r.sees("line 10000\n")
	require.Less(t, r.views-views, 100)
	call := r.m.calls["1"]
	require.LessOrEqual(t, call.Output.Bytes(), maxPending)
	require.NotContains(t, r.text(), "line 9990\n")
	for range 3 {
		call.Print(lines(1000, strings.Repeat("x", 5000)), false)
	}
	require.LessOrEqual(t, call.Output.Bytes(), (blocks.MaxTailLines+1)*blocks.MaxTailLine)
	r.press("ctrl+o")
	require.LessOrEqual(t, len(call.Render(r.m.style())), 2*blocks.MaxTailLines*blocks.MaxTailLine/70)
}

// Output that waits for a slow screen is bounded; its end is kept.
func TestMailboxIsBounded(t *testing.T) {
	b := newMailbox()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range 10_000 {
		b.post(outputMsg{call: fmt.Sprint(i % 2), text: strings.Repeat("y", 999) + "\n"})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	batch := b.take()
	require.Len(t, batch, 2)
	for _, m := range batch {
		require.LessOrEqual(t, len(m.(outputMsg).text), maxPending)
		require.Positive(t, m.(outputMsg).skipped)
	}
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(4<<20))
	require.Empty(t, b.take())
	b.post(1)
	b.close()
	b.post(2)
	require.Empty(t, b.take())
}

// hostile contains attempts of a model, a tool or a file: move the cursor, clear
// the screen, set the title or the clipboard, change colours, reverse the writing
// direction.
const hostile = "\x1b[2J\x1b[H\x1b[31m\x1b]0;owned\x07\x1b]52;c;b3duZWQ=\x07\x9b31m\u009b31m\u202e\u2066\x00\x08\x0e\x1b(0\x1bc\r\x7fX\u200b"

// Foreign text reaches the terminal only as plain text, wherever it comes from.
func TestHostileText(t *testing.T) {
	h := hostile
	s := newFake()
	s.status.Product, s.status.Dir, s.status.Branch, s.status.Model, s.status.Mode = h, h, h, h, h
	s.status.Trust, s.status.Confined = h, h
	s.inputs = []string{h}
	s.complete = func(_ context.Context, text string, cursor int) interactive.Completions {
		return interactive.Completions{To: cursor, Items: []interactive.Candidate{{Text: h, Label: h, Description: h}}}
	}
	r := newRig(t, s, func(o *Options) { o.Edit = noEdit })
	failure := fault.New(fault.ModelError, h, h, h)
	r.plays(
		interactive.Event{Kind: interactive.EventPrompt, Text: h},
		interactive.Event{Kind: interactive.EventMessage, Text: h}, interactive.Event{Kind: interactive.EventShell, Text: h},
		told(agent.Event{Type: agent.EventText, Text: h}), told(agent.Event{Type: agent.EventThought, Thought: &agent.Thought{Subject: h, Description: h}}),
		told(agent.Event{Type: agent.EventWarning, Text: h, Err: failure}), told(agent.Event{Type: agent.EventCitation, Text: h}),
		interactive.Event{Kind: interactive.EventWorking, Text: h},
	)
	r.check()
	publish(r, bus.ToolCallsUpdate{ToolCalls: []bus.ToolCallState{
		{CallID: "1", Name: h, Description: h, Status: bus.StatusExecuting}, {CallID: "2", Name: h, Status: bus.StatusError, Error: &bus.Failure{Message: h, Remedy: h}},
		{CallID: "3", Name: "x", Status: bus.StatusSuccess, Display: []byte(`{"todos":[{"description":"\u001b[2J","status":"pending"}]}`)},
		{CallID: "4", Name: "x", Status: bus.StatusSuccess, Display: []byte(`{"ansi":"\u001b[2J\u009b2Jx"}`)},
		{CallID: "5", Name: "x", Status: bus.StatusSuccess, Display: []byte(`{"fileDiff":"--- a\n+++ b\n@@ -1 +1 @@\n-\u001b[2J\n+\u009b2J\n"}`)},
	}})
	publish(r, bus.ToolOutput{CallID: "1", Chunk: h})
	publish(r, bus.SubagentActivity{SubagentName: h, Activity: bus.Activity{ID: "a", Content: h}})
	publish(r, bus.UpdatePolicy{ToolName: h})
	r.sees("Remembered")
	r.check()
	r.press("ctrl+o")
	r.check()
	r.press("up") // from the history
	r.check()
	r.press("ctrl+r")
	r.typeIn("X")
	r.check()
	r.press("esc")
	r.m.input.Reset()
	r.typeIn("/")
	r.until(r.m.completion.open)
	r.check()
	r.m.completion.dismiss()

	edit, command, server, info := editQuestion(), commandQuestion(), serverQuestion(), infoQuestion()
	edit.Details.Title, edit.Details.FilePath, edit.Details.FileDiff, edit.Subagent = h, h, "--- a\n+++ b\n@@ -1 +1 @@\n-"+h+"\n+"+h+"\n", h
	command.Details.Command, command.ToolCall.Args = h+"\n"+h, []byte(`{"\u001b[2J":"\u001b[2J"}`)
	command.Details.ExecDetails.Parts = []details.Part{{Text: h, Decision: policy.Verdict(h), Reason: h, Rule: h, Source: h}}
	command.Remembers = []bus.Remembered{{Outcome: bus.ProceedAlways, Rules: []string{h}}}
	server.Details.MCPDetails = &details.MCPDetails{ServerName: h, ToolName: h, ToolDisplayName: h}
	server.ToolCall.Args = []byte(`{"a":"` + "\u009b2J\u202e" + `"}`)
	info.Details.InfoDetails = &details.InfoDetails{Prompt: h, URLs: []string{h}}
	info.Details.SystemMessage, info.Details.Paths = h, []string{h}
	for _, q := range []bus.ToolConfirmationRequest{edit, command, server, info} {
		answers := asks(r, q)
		r.check()
		r.press("n", "x", "enter")
		receive(t, answers)
	}
	option := []bus.UserOption{{Label: h, Description: h}}
	answers := asks(r, bus.AskUserRequest{Server: h, Questions: []bus.UserQuestion{
		{Question: h, Header: h, Type: bus.QuestionChoice, Options: option, Default: h}, {Question: h, Type: bus.QuestionText, Placeholder: h}}})
	r.check()
	r.press("enter")
	r.check()
	r.press("esc")
	receive(t, answers)
	r.m.pager = pager.New(h, h)
	r.check()
}

// check fails if the frame contains control sequences. The theme of the test has no
// colours.
func (r *rig) check() {
	r.Helper()
	for _, size := range sizes {
		r.size(size.width, size.height)
		content := r.m.View().Content
		for _, c := range content {
			if c != '\n' && (display.Obeyed(c) || c == '\t') {
				require.Failf(r, "a terminal obeys it", "%U in %q", c, content)
			}
		}
		require.NotContains(r, content, "\x1b")
		title := r.m.View().WindowTitle
		require.NotContains(r, title, "\x1b")
		require.NotContains(r, title, "\x07")
	}
	r.size(80, 24)
}

// Rendering stays within its bounds for any text at any size.
func FuzzRender(f *testing.F) {
	f.Add(hostile, 10)
	f.Add("日本語 e\u0301\t👩‍👩‍👧\r\n# a\n```\nx", 3)
	f.Add("| a |\n|--|\n| "+strings.Repeat("w", 100), 1)
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = 8 + (width%200+200)%200
		th := styles()
		v := blocks.Style{Columns: width, Theme: &th}
		call := &blocks.Call{State: bus.ToolCallState{Name: text, Description: text, Status: bus.StatusError, Error: &bus.Failure{Message: text}}}
		call.Print(text, false)
		answer, thought := &blocks.Answer{}, &blocks.Thought{}
		answer.Add(text)
		thought.Add(text, text)
		for _, b := range []blocks.Block{&blocks.Prompt{Text: text}, answer, thought, &blocks.Message{Text: text}, &blocks.Note{Text: text}, &blocks.Shell{Text: text}, call} {
			for _, line := range b.Render(v) {
				if w := display.Width(line); w > width || strings.ContainsAny(line, "\n\r\t") {
					t.Fatalf("%T: %d columns of %d: %q", b, w, width, line)
				}
			}
		}
	})
}

// UI-04: a file that the prompt mentions with @ is read before the model answers, and is shown
// above the answer although its message arrives later.
func TestCallsOfThePromptAreAboveTheAnswer(t *testing.T) {
	r := newRig(t, newFake())
	r.plays(
		told(agent.Event{Type: agent.EventText, Text: "Now I change it."}),
		told(agent.Event{Type: agent.EventToolCall, Call: &model.FunctionCall{ID: "m", Name: "safe_patch"}}),
	)
	publish(r, bus.ToolCallsUpdate{ToolCalls: []bus.ToolCallState{{CallID: "p", Name: "read_many_files", Status: bus.StatusSuccess}}})
	publish(r, bus.ToolCallsUpdate{ToolCalls: []bus.ToolCallState{{CallID: "m", Name: "safe_patch", Status: bus.StatusSuccess}}})
	r.sees("read_many_files")
	order := regexp.MustCompile(`(?s)> go.*read_many_files.*Now I change it.*safe_patch`)
	require.Regexp(t, order, r.text())
}
