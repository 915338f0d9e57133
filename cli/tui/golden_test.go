package tui

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	details "github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

var update = flag.Bool("update", false, "write the screens below testdata anew")

// size is the size of a terminal.
type size struct{ width, height int }

// sizes are the terminal sizes of most golden screens.
var sizes = []size{{80, 24}, {40, 10}}

// golden compares the screen with the file in testdata at each size, and checks the
// number of rows and their widths.
func (r *rig) golden(name string, also ...size) {
	r.Helper()
	for _, size := range slices.Concat(sizes, also) {
		r.size(size.width, size.height)
		screen := r.text()
		rows := strings.Split(strings.TrimSuffix(screen, "\n"), "\n")
		require.Len(r, rows, size.height)
		for _, row := range rows {
			require.LessOrEqual(r, display.Width(row), size.width, "%q", row)
		}
		path := filepath.Join("testdata", fmt.Sprintf("%s-%dx%d.txt", name, size.width, size.height))
		if *update {
			require.NoError(r, os.WriteFile(path, []byte(screen), 0o644))
		}
		want, err := os.ReadFile(path)
		require.NoError(r, err)
		require.Equal(r, string(want), screen, name)
	}
}

func diffOf(lines int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "--- a/main.go\n+++ b/main.go\n@@ -1,%d +1,%d @@\n", lines, lines+1)
	for i := range lines {
		fmt.Fprintf(&b, " line %d\t日本語\n", i+1)
		if i == 2 {
			b.WriteString("-old e\u0301 \x1b[2J\n+new\r\n+two\n")
		}
	}
	return b.String()
}

func editQuestion() bus.ToolConfirmationRequest {
	original := "old\n"
	return bus.ToolConfirmationRequest{
		ToolCall: bus.ToolCall{Name: "safe_patch"},
		Details: bus.Confirmation{
			Type: details.Edit, Title: "Apply this change?",
			EditDetails: &details.EditDetails{FileName: "main.go", FilePath: "/home/me/project/main.go", FileDiff: diffOf(30), OriginalContent: &original, NewContent: "new\n"},
		},
		Decision: details.Explanation{Decision: "ask_user", Reason: "Tools that change files ask.", Source: "built-in"},
		Outcomes: []bus.Outcome{bus.ProceedOnce, bus.ProceedAlways, bus.ProceedAlwaysAndSave, bus.ModifyWithEditor, bus.Cancel},
		Remembers: []bus.Remembered{
			{Outcome: bus.ProceedAlways, Rules: []string{"safe_patch on /home/me/project/main.go"}},
			{Outcome: bus.ProceedAlwaysAndSave, Rules: []string{"safe_patch on /home/me/project/main.go"}},
		},
	}
}

func commandQuestion() bus.ToolConfirmationRequest {
	return bus.ToolConfirmationRequest{
		ToolCall: bus.ToolCall{Name: "run_shell_command", Args: json.RawMessage(`{"command":"x","dir_path":"sub","description":"Build it anew"}`)},
		Subagent: "builder",
		Details: bus.Confirmation{
			Type: details.Exec, Title: "Run this command?",
			ExecDetails: &details.ExecDetails{Command: "go test ./... && rm -rf build", Parts: []details.Part{
				{Text: "go test ./...", Decision: "allow", Reason: "a rule allows it", Rule: "go test", Tier: "user", Source: "policies.toml", Line: 3},
				{Text: "rm -rf build", Decision: "ask_user", Reason: `No rule allows "rm -rf build".`, Source: "built-in"},
			}},
		},
		Decision:  details.Explanation{Decision: "ask_user", Source: "built-in"},
		Outcomes:  []bus.Outcome{bus.ProceedOnce, bus.ProceedAlways, bus.ProceedAlwaysTool, bus.Cancel},
		Remembers: []bus.Remembered{{Outcome: bus.ProceedAlways, Rules: []string{"exactly the command rm -rf build"}}, {Outcome: bus.ProceedAlwaysTool, Rules: []string{"any call of run_shell_command"}}},
	}
}

// manyQuestion returns a request whose answers cover twelve rules.
func manyQuestion() bus.ToolConfirmationRequest {
	q := commandQuestion()
	var rules []string
	for i := range 11 {
		rules = append(rules, fmt.Sprintf("commands that begin with program%d", i))
	}
	rules = append(rules, "exactly the command "+strings.Repeat("rm -rf build ", 12)+"end")
	q.Outcomes = []bus.Outcome{bus.ProceedOnce, bus.ProceedAlways, bus.ProceedAlwaysAndSave, bus.Cancel}
	q.Remembers = []bus.Remembered{{Outcome: bus.ProceedAlways, Rules: rules}, {Outcome: bus.ProceedAlwaysAndSave, Rules: rules}}
	return q
}

func serverQuestion() bus.ToolConfirmationRequest {
	return bus.ToolConfirmationRequest{
		ToolCall: bus.ToolCall{Name: "mcp_store_buy", Args: json.RawMessage(`{"item":"tea","count":2,"note":"` + strings.Repeat("long ", 200) + `"}`)},
		Details: bus.Confirmation{Type: details.MCP, Title: "Call this tool?",
			MCPDetails: &details.MCPDetails{ServerName: "store", ToolName: "buy", ToolDisplayName: "Buy (things)"}},
		Outcomes: []bus.Outcome{bus.ProceedOnce, bus.ProceedAlwaysTool, bus.ProceedAlwaysServer, bus.Cancel},
		Remembers: []bus.Remembered{
			{Outcome: bus.ProceedAlwaysTool, Rules: []string{"the tool buy of the MCP server store, with any arguments"}},
			{Outcome: bus.ProceedAlwaysServer, Rules: []string{"any tool of the MCP server store, with any arguments"}},
		},
	}
}

func infoQuestion() bus.ToolConfirmationRequest {
	return bus.ToolConfirmationRequest{
		ToolCall: bus.ToolCall{Name: "exit_plan_mode"},
		Details: bus.Confirmation{Type: details.Info, Title: "Carry out this plan?", SystemMessage: "a hook says: careful",
			InfoDetails: &details.InfoDetails{Prompt: "# Plan\n\n1. Write tests\n2. Make them **pass**\n", URLs: []string{"https://example.org/plan"}}, Paths: []string{"/home/me/project/plan.md"}},
		Outcomes: []bus.Outcome{bus.ProceedOnce, bus.Cancel},
	}
}

// setQuestion asks about the changes of two files.
func setQuestion() bus.ToolConfirmationRequest {
	return bus.ToolConfirmationRequest{
		ToolCall: bus.ToolCall{Name: "apply_patch"},
		Details: bus.Confirmation{Type: details.Info, Title: "Confirm Patch 2 files: a.txt …",
			InfoDetails: &details.InfoDetails{Prompt: "```diff\nupdate a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n\nmove b.txt to c.txt\n```"},
			Paths:       []string{"/home/me/project/a.txt", "/home/me/project/b.txt", "/home/me/project/c.txt"}, Bases: make([]details.FileVersion, 2)},
		Outcomes: []bus.Outcome{bus.ProceedOnce, bus.Cancel},
	}
}

// The screens of a session, at both sizes.
func TestScreens(t *testing.T) {
	text := func(s string) interactive.Event { return told(agent.Event{Type: agent.EventText, Text: s}) }
	screens := map[string]func(r *rig){
		"idle": func(r *rig) { r.golden("idle", size{200, 50}) },
		"conversation": func(r *rig) {
			r.plays(
				told(agent.Event{Type: agent.EventThought, Thought: &agent.Thought{Subject: "What is asked", Description: "the details of it"}}),
				text("I look at **it**.\n\n```go\nfunc main() {}\n```\n"),
				told(agent.Event{Type: agent.EventToolCall, Call: &model.FunctionCall{ID: "1", Name: "read_file"}}),
				told(agent.Event{Type: agent.EventWarning, Text: "It is late."}),
			)
		},
		"question-edit":    func(r *rig) { asks(r, editQuestion()) },
		"question-command": func(r *rig) { asks(r, commandQuestion()) },
		"question-many":    func(r *rig) { asks(r, manyQuestion()) },
		"question-server":  func(r *rig) { asks(r, serverQuestion()) },
		"question-info":    func(r *rig) { asks(r, infoQuestion()) },
		"question-set":     func(r *rig) { asks(r, setQuestion()) },
		"question-no": func(r *rig) {
			asks(r, editQuestion())
			r.press("n")
			r.typeIn("write tests first")
		},
		"question-not-armed": func(r *rig) {
			asks(r, editQuestion())
			r.typeIn("x")
		},
		"question-ascii": func(r *rig) {
			r.m.look = &theme.Theme{ASCII: true}
			asks(r, commandQuestion())
		},
		"form-several": func(r *rig) {
			asks(r, bus.AskUserRequest{Subagent: "helper", Questions: []bus.UserQuestion{
				{Question: "Which **tests** are to run?", Type: bus.QuestionChoice, MultiSelect: true, Options: []bus.UserOption{{Label: "unit", Description: "seconds"}, {Label: "integration", Description: "minutes"}, {Label: "all of them"}}},
			}})
			r.press("space", "down", "down", "space")
		},
		"form-words": func(r *rig) {
			asks(r, bus.AskUserRequest{Server: "store", Questions: []bus.UserQuestion{{Question: "A name?", Type: bus.QuestionText, Placeholder: "for example Jo"}}})
			r.press("enter")
		},
		"form-yesno": func(r *rig) {
			asks(r, bus.AskUserRequest{Program: true, Questions: []bus.UserQuestion{{Question: "Undo the last change?", Type: bus.QuestionYesNo}}})
		},
		"form-not-armed": func(r *rig) {
			asks(r, bus.AskUserRequest{Questions: []bus.UserQuestion{{Question: "Sure?", Type: bus.QuestionYesNo}}})
			r.typeIn("x")
		},
		"form-choice": func(r *rig) {
			asks(r, bus.AskUserRequest{Questions: []bus.UserQuestion{
				{Question: "Which one?", Header: "Colour", Type: bus.QuestionChoice, Options: []bus.UserOption{{Label: "Red", Description: "as a rose"}, {Label: "Blue"}}},
				{Question: "And why?", Type: bus.QuestionText},
			}})
			r.press("down")
		},
		"pager": func(r *rig) {
			r.plays(interactive.Event{Kind: interactive.EventDialog, Title: "Help", Text: "# Commands\n\n" + lines(40, "- `/help`")})
		},
		"queued": func(r *rig) {
			hold := make(chan struct{})
			r.s.work = holding(hold)
			r.Cleanup(func() { close(hold) })
			r.enter("first")
			r.enter("second")
			r.enter("third")
			r.typeIn("being typed")
		},
		"completion": func(r *rig) {
			r.s.complete = commands
			r.typeIn("/")
			r.sees("/help")
		},
		"calls": func(r *rig) { showCalls(r) },
		"calls-detail": func(r *rig) {
			showCalls(r)
			r.press("ctrl+o")
		},
		"wide": func(r *rig) {
			r.typeIn("日本語 e\u0301\u0301 👩‍👩‍👧 ")
			r.m.paste("a\tb\r\nsecond")
			r.plays(text("| a | 日本 |\n|---|---|\n| e\u0301 | x |\n"))
		},
	}
	for name, play := range screens {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, newFake(), func(o *Options) {
				o.Edit = noEdit
			})
			play(r)
			if strings.HasPrefix(name, "question-") || strings.HasPrefix(name, "form-") {
				r.golden(name, size{200, 50})
				return
			}
			r.golden(name)
		})
	}
}

// showCalls shows a call in every state.
func showCalls(r *rig) {
	change, _ := json.Marshal(map[string]any{"fileDiff": diffOf(12), "fileName": "main.go", "filePath": "/p/main.go"})
	publish(r, bus.ToolCallsUpdate{ToolCalls: []bus.ToolCallState{
		{CallID: "1", Name: "read_file", Description: "main.go", Status: bus.StatusSuccess, Display: json.RawMessage(`"Read 3 lines."`)},
		{CallID: "2", Name: "safe_patch", Description: "main.go", Status: bus.StatusSuccess, Display: change},
		{CallID: "3", Name: "write_file", Description: "x", Status: bus.StatusError, Error: &bus.Failure{Message: "It is gone.", Remedy: "Look again."}},
		{CallID: "4", Name: "glob", Status: bus.StatusDenied, Error: &bus.Failure{Message: "A rule denies it."}},
		{CallID: "5", Name: "edit", Status: bus.StatusCancelled},
		{CallID: "6", Name: "reviewer", Description: "look at all of it", Status: bus.StatusExecuting, StartTime: noon},
		{CallID: "7", Name: "run_shell_command", Description: "make", Status: bus.StatusExecuting, StartTime: noon},
		{CallID: "8", Name: "web_fetch", Status: bus.StatusAwaitingApproval},
		{CallID: "9", Name: "web_search", Status: bus.StatusScheduled},
	}})
	publish(r, bus.SubagentActivity{SubagentName: "reviewer", Activity: bus.Activity{ID: "t", Type: bus.ActivityThought, Content: "hm", Status: bus.ActivityCompleted}})
	publish(r, bus.SubagentActivity{SubagentName: "reviewer", Activity: bus.Activity{ID: "c", Type: bus.ActivityToolCall, Content: "grep x", Status: bus.ActivityRunning}})
	publish(r, bus.ToolCallsUpdate{ToolCalls: []bus.ToolCallState{{CallID: "c", Name: "grep", Description: "x", Subagent: "reviewer", Status: bus.StatusSuccess}}})
	publish(r, bus.ToolOutput{CallID: "7", Chunk: lines(20, "compiled")})
	publish(r, bus.UpdatePolicy{ToolName: "run_shell_command", CommandPrefix: []string{"make"}, Words: "commands that begin with make"})
	r.sees("Remembered")
}

func publish(r *rig, m bus.Message) {
	r.Helper()
	require.NoError(r, r.s.bus.Publish(m))
}

// Every agent event is visible.
func TestAgentEvents(t *testing.T) {
	broke := fault.New(fault.ModelError, "x", "The provider is tired.", "Wait a little.")
	events := map[string]struct {
		event agent.Event
		want  []string
	}{
		"retry":      {agent.Event{Type: agent.EventRetry, Retry: &agent.RetryInfo{Attempt: 1, Wait: 2 * time.Second, Reason: broke}}, []string{"No answer arrived: The provider is tired. Retrying in 2s (attempt"}},
		"compaction": {agent.Event{Type: agent.EventCompaction, Compaction: &agent.Compaction{Status: agent.Compacted, Before: 90_000, After: 1234}}, []string{"90,000", "1,234"}},
		"no use":     {agent.Event{Type: agent.EventCompaction, Compaction: &agent.Compaction{Status: agent.CompactionInflated}}, []string{"could not be compacted"}},
		"warning":    {agent.Event{Type: agent.EventWarning, Text: "Careful.", Err: broke}, []string{"Careful.", "tired", "Wait"}},
		"error":      {agent.Event{Type: agent.EventError, Err: broke}, []string{"tired", "Wait"}},
		"invalid":    {agent.Event{Type: agent.EventInvalidStream, Err: broke}, []string{"tired"}},
		"cancelled":  {agent.Event{Type: agent.EventCancelled}, []string{"Called off."}},
		"limit":      {agent.Event{Type: agent.EventLimit, Err: broke}, []string{"tired"}},
		"loop":       {agent.Event{Type: agent.EventLoop, Err: broke}, []string{"the model repeats itself"}},
		"overflow":   {agent.Event{Type: agent.EventOverflow, Tokens: 5000, Limit: 4000, Err: broke}, []string{"5,000", "4,000"}},
		"stopped":    {agent.Event{Type: agent.EventStopped, Text: "a hook said so"}, []string{"Stopped: a hook said so"}},
		"blocked":    {agent.Event{Type: agent.EventBlocked, Text: "secrets"}, []string{"blocked: secrets"}},
		"citation":   {agent.Event{Type: agent.EventCitation, Text: "https://example.org"}, []string{"Sources:", "https://example.org"}},
		"cut":        {agent.Event{Type: agent.EventFinished, Finish: model.FinishMaxTokens}, []string{"max_tokens"}},
	}
	for name, tt := range events {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, newFake())
			r.plays(told(tt.event))
			for _, want := range tt.want {
				require.Contains(t, r.text(), want)
			}
		})
	}
}

// The text of a retried answer is removed.
func TestRetryTakesTheTextBack(t *testing.T) {
	r := newRig(t, newFake())
	r.plays(
		told(agent.Event{Type: agent.EventText, Text: "an earlier answer"}), told(agent.Event{Type: agent.EventFinished}),
		told(agent.Event{Type: agent.EventText, Text: "half of"}),
		told(agent.Event{Type: agent.EventRetry, Retry: &agent.RetryInfo{Attempt: 1}}),
		told(agent.Event{Type: agent.EventText, Text: "all of it"}),
	)
	require.NotContains(t, r.text(), "half of")
	require.Contains(t, r.text(), "an earlier answer")
	require.Contains(t, r.text(), "all of it")
}

// UI-05: the notices of the start stand above the hints, which stay until the first input.
func TestGreetingBelowNotices(t *testing.T) {
	s := newFake()
	s.start = []interactive.Event{{Kind: interactive.EventMessage, Level: interactive.LevelInfo, Text: "The model is gpt-5 of openai, with the key of the variable OPENAI_API_KEY."}}
	r := newRig(t, s)
	r.golden("idle-notices", size{200, 50})
	r.plays(told(agent.Event{Type: agent.EventText, Text: "Hello."}))
	require.NotContains(t, r.text(), "@ adds a file")
}

// Session events other than agent events.
func TestSessionEvents(t *testing.T) {
	s := newFake()
	s.start = []interactive.Event{{Kind: interactive.EventMessage, Text: "Welcome"}}
	r := newRig(t, s)
	require.Contains(t, r.text(), "· Welcome")
	r.plays(interactive.Event{Kind: interactive.EventMessage, Level: interactive.LevelError, Text: "It failed"}, interactive.Event{Kind: interactive.EventShell, Text: "hello\n"})
	require.Contains(t, r.text(), "✗ It failed")
	require.Contains(t, r.text(), "  hello")
	r.plays(interactive.Event{Kind: interactive.EventPrompt, Text: "what the command says"})
	require.Contains(t, r.text(), "> what the command says")
	r.plays(interactive.Event{Kind: interactive.EventPrompt, Text: "go"}) // as typed: already displayed
	require.Equal(t, 3, strings.Count(r.text(), "> go"))

	r.plays(interactive.Event{Kind: interactive.EventHistory, History: []interactive.Item{
		{Role: "user", Text: "earlier"}, {Role: "tool", Name: "read_file", Text: "main.go", OK: true, Status: "success"}, {Role: "assistant", Text: "an *answer*"},
	}})
	require.NotContains(t, r.text(), "Welcome")
	require.Contains(t, r.text(), "> earlier\n\n✓ read_file main.go\n\n● an answer\n")
	r.plays(interactive.Event{Kind: interactive.EventClear})
	require.NotContains(t, r.text(), "earlier")

	before := len(r.cmds)
	r.plays(interactive.Event{Kind: interactive.EventCopy, Text: "copied"})
	copied := fmt.Sprint(r.cmds[before]())
	require.Contains(t, copied, "copied") // bubbletea's clipboard message (OSC 52)
	r.s.work = nil
	r.plays(interactive.Event{Kind: interactive.EventQuit, Text: "Bye"})
	require.True(t, r.m.quitting)
	require.IsType(t, tea.QuitMsg{}, r.cmds[len(r.cmds)-1]())
	require.Equal(t, "Bye", r.m.lastWords)
}

// A combining mark is part of the text sent to the terminal.
func TestCombiningMarks(t *testing.T) {
	r := newRig(t, newFake())
	r.m.input.Insert("e\u0301 ш\u0301")
	require.Contains(t, r.m.View().Content, "\u00e9 ш\u0301")
}
