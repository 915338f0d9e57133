package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/acp/frames"
	"github.com/fettle-dev/fettle/cli/internal/program"
)

const patchTurns = `{"turns": [
  {"thought": "**Reading** the file", "text": "I read it.", "calls": [{"tool": "read_file", "args": {"file_path": "f.txt", "offset": 1, "limit": 1}}, {"tool": "read_file", "args": {"file_path": "f.txt"}}]},
  {"calls": [{"tool": "safe_patch", "args": {"file_path": "f.txt", "base_content_sha256": "{{sha256 \"f.txt\"}}", "unified_diff": "@@\n one\n-two\n+TWO\n"}}]},
  {"text": "Finished."}
]}`

// FD-02: a prompt streams text, thoughts and calls with kinds, locations, states and a
// diff; in default mode a patch asks once, with options of the three kinds.
func TestPatch(t *testing.T) {
	e := edit(t, patchTurns)
	id := e.open(false)
	require.Equal(t, sdk.StopReasonEndTurn, e.say(id, "Make it loud."))
	require.Equal(t, "one\nTWO\nthree\n", e.file("f.txt"))
	all := e.take()
	require.Equal(t, "I read it.Finished.", said(all))
	require.Contains(t, thought(all), "**Reading**")

	path := filepath.Join(e.dir, "f.txt")
	calls := callsOf(t, all)
	require.Len(t, calls, 3)
	require.Equal(t, []sdk.ToolCallLocation{{Path: path, Line: sdk.Ptr(2)}}, calls[0].Locations)
	for i, kind := range []sdk.ToolKind{sdk.ToolKindRead, sdk.ToolKindRead, sdk.ToolKindEdit} {
		require.Equal(t, kind, calls[i].Kind)
		require.Equal(t, sdk.ToolCallStatusPending, calls[i].states[0])
		require.Equal(t, sdk.ToolCallStatusCompleted, calls[i].states[len(calls[i].states)-1])
	}
	require.Equal(t, "SafePatch: Patch f.txt", calls[2].Title)
	require.Equal(t, &sdk.ToolCallContentDiff{Path: path, OldText: sdk.Ptr("one\ntwo\nthree\n"), NewText: "one\nTWO\nthree\n", Type: "diff"}, calls[2].Content[0].Diff)

	require.Len(t, e.asked, 1)
	require.Equal(t, calls[2].ToolCallId, e.asked[0].ToolCall.ToolCallId)
	require.Equal(t, "one\nTWO\nthree\n", e.asked[0].ToolCall.Content[0].Diff.NewText)
	kinds := map[sdk.PermissionOptionKind]int{}
	for _, o := range e.asked[0].Options {
		kinds[o.Kind]++
	}
	require.Equal(t, map[sdk.PermissionOptionKind]int{sdk.PermissionOptionKindAllowOnce: 1, sdk.PermissionOptionKindAllowAlways: 2, sdk.PermissionOptionKindRejectOnce: 1}, kinds)
}

const twoPatches = `{"turns": [
  {"calls": [{"tool": "read_file", "args": {"file_path": "f.txt"}}]},
  {"calls": [{"tool": "safe_patch", "args": {"file_path": "f.txt", "base_content_sha256": "{{sha256 \"f.txt\"}}", "unified_diff": "@@\n one\n-two\n+TWO\n"}}]},
  {"calls": [{"tool": "safe_patch", "args": {"file_path": "f.txt", "base_content_sha256": "{{sha256 \"f.txt\"}}", "unified_diff": "@@\n-one\n+ONE\n"}}]},
  {"text": "Finished."}
]}`

// FD-02: each answer to a permission request has its effect; everything but an offered
// option that allows is a no, and the turn ends normally.
func TestPermissionOutcomes(t *testing.T) {
	fails := func(context.Context, sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
		return sdk.RequestPermissionResponse{}, sdk.NewInternalError(nil)
	}
	for name, tt := range map[string]struct {
		answer func(context.Context, sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error)
		asked  int
		want   string
	}{
		"once":      {selects("proceed_once"), 2, "ONE\nTWO\nthree\n"},
		"always":    {selects("proceed_always"), 1, "ONE\nTWO\nthree\n"},
		"saved":     {selects("proceed_always_and_save"), 1, "ONE\nTWO\nthree\n"},
		"no":        {selects("cancel"), 2, "one\ntwo\nthree\n"},
		"dismissed": {dismissed, 2, "one\ntwo\nthree\n"},
		"unknown":   {selects("everything"), 2, "one\ntwo\nthree\n"},
		"unoffered": {selects("modify_with_editor"), 2, "one\ntwo\nthree\n"},
		"error":     {fails, 2, "one\ntwo\nthree\n"},
	} {
		t.Run(name, func(t *testing.T) {
			e := edit(t, twoPatches)
			e.answer = tt.answer
			require.Equal(t, sdk.StopReasonEndTurn, e.say(e.open(false), "Make it loud."))
			require.Equal(t, tt.want, e.file("f.txt"))
			require.Len(t, e.asked, tt.asked)
			all := e.take()
			require.Equal(t, "Finished.", said(all))
			last := callsOf(t, all)[2]
			if tt.want == "one\ntwo\nthree\n" {
				require.Equal(t, sdk.ToolCallStatusFailed, last.states[len(last.states)-1])
			}
		})
	}
}

// FD-02: the approval modes are the modes of a session; each change is reported
// and applies to the next call.
func TestModes(t *testing.T) {
	e := edit(t, twoPatches)
	id := e.open(false)
	_, err := e.conn.SetSessionMode(t.Context(), sdk.SetSessionModeRequest{SessionId: id, ModeId: "autoEdit"})
	require.NoError(t, err)
	e.until(func(u sdk.SessionUpdate) bool {
		return u.CurrentModeUpdate != nil && u.CurrentModeUpdate.CurrentModeId == "autoEdit"
	})
	require.Equal(t, sdk.StopReasonEndTurn, e.say(id, "Make it loud."))
	require.Empty(t, e.asked)
	require.Equal(t, "ONE\nTWO\nthree\n", e.file("f.txt"))
	require.Equal(t, sdk.StopReasonEndTurn, e.say(id, "/mode default"))
	e.until(func(u sdk.SessionUpdate) bool {
		return u.CurrentModeUpdate != nil && u.CurrentModeUpdate.CurrentModeId == "default"
	})
	for _, mode := range []sdk.SessionModeId{"fast", ""} {
		_, err = e.conn.SetSessionMode(t.Context(), sdk.SetSessionModeRequest{SessionId: id, ModeId: mode})
		if mode != "" {
			require.ErrorContains(t, err, "is not an approval mode")
		}
	}
}

// FD-02: in plan mode a patch is shown and not made.
func TestPlanMode(t *testing.T) {
	e := edit(t, twoPatches)
	id := e.open(false)
	_, err := e.conn.SetSessionMode(t.Context(), sdk.SetSessionModeRequest{SessionId: id, ModeId: "plan"})
	require.NoError(t, err)
	require.Equal(t, sdk.StopReasonEndTurn, e.say(id, "Make it loud."))
	require.Empty(t, e.asked)
	require.Equal(t, "one\ntwo\nthree\n", e.file("f.txt"))
	calls := callsOf(t, e.take())
	require.NotNil(t, calls[1].Content[0].Diff)
	require.Contains(t, calls[1].text(), "Plan mode: nothing was changed.")
}

// FD-02: the list of todos is the plan.
func TestPlan(t *testing.T) {
	e := edit(t, `{"turns": [{"calls": [{"tool": "write_todos", "args": {"todos": [{"description": "one", "status": "completed"}, {"description": "two", "status": "in_progress"}, {"description": "three", "status": "cancelled"}]}}]}, {"text": "ok"}]}`)
	require.Equal(t, sdk.StopReasonEndTurn, e.say(e.open(false), "Plan it."))
	var plan *sdk.SessionUpdatePlan
	for _, u := range e.take() {
		if u.Plan != nil {
			plan = u.Plan
		}
	}
	require.NotNil(t, plan)
	require.Equal(t, []sdk.PlanEntry{
		{Content: "one", Priority: sdk.PlanEntryPriorityMedium, Status: sdk.PlanEntryStatusCompleted},
		{Content: "two", Priority: sdk.PlanEntryPriorityMedium, Status: sdk.PlanEntryStatusInProgress},
		{Content: "three (cancelled)", Priority: sdk.PlanEntryPriorityMedium, Status: sdk.PlanEntryStatusCompleted},
	}, plan.Entries)
}

// FD-02: slash commands are offered and run in a prompt; one that needs a terminal is
// refused, and text that names no command is a prompt.
func TestCommands(t *testing.T) {
	e := edit(t, `{"turns": [{"expect": {"prompt": "/etc/hosts"}, "text": "A file."}, {"expect": {"prompt": "!ls"}, "text": "No shell."}]}`)
	require.NoError(t, os.MkdirAll(filepath.Join(os.Getenv("HOME"), ".fettle", "commands"), 0o755))
	id := e.open(false)
	var names []string
	e.until(func(u sdk.SessionUpdate) bool {
		if u.AvailableCommandsUpdate == nil {
			return false
		}
		for _, c := range u.AvailableCommandsUpdate.AvailableCommands {
			names = append(names, c.Name)
		}
		return true
	})
	require.Contains(t, names, "about")
	require.NotContains(t, names, "quit")
	e.take()
	require.Equal(t, sdk.StopReasonEndTurn, e.say(id, "/about"))
	require.Contains(t, said(e.take()), "Approval mode")
	require.Equal(t, sdk.StopReasonEndTurn, e.say(id, "/quit"))
	require.Contains(t, said(e.take()), "not available in this editor")
	require.Equal(t, sdk.StopReasonEndTurn, e.say(id, "/etc/hosts: what is it?"))
	require.Equal(t, "A file.", said(e.take()))
	require.Equal(t, sdk.StopReasonEndTurn, e.say(id, "!ls"))
	require.Equal(t, "No shell.", said(e.take()))
}

// FD-02: output of a command arrives while it runs and at its end.
func TestCommandOutput(t *testing.T) {
	e := edit(t, `{"turns": [{"calls": [{"tool": "run_shell_command", "args": {"command": "echo begun; until [ -e go ]; do sleep 0.01; done; printf '\\033[31mred\\033[0m\\n'"}}]}, {"text": "ok"}]}`)
	id := e.open(false)
	done := make(chan sdk.StopReason)
	go func() { done <- e.say(id, "Run it.") }()
	e.until(func(u sdk.SessionUpdate) bool {
		return u.ToolCallUpdate != nil && len(u.ToolCallUpdate.Content) == 1 && u.ToolCallUpdate.Content[0].Content != nil &&
			u.ToolCallUpdate.Content[0].Content.Content.Text.Text == "```\nbegun\n```"
	})
	require.NoError(t, os.WriteFile(filepath.Join(e.dir, "go"), nil, 0o600))
	require.Equal(t, sdk.StopReasonEndTurn, <-done)
	call := callsOf(t, e.take())[0]
	require.Equal(t, sdk.ToolKindExecute, call.Kind)
	require.Contains(t, call.text(), "begun\nred")
}

// FD-02: questions of the model become options; one that needs text is not answered, and
// is shown to the user.
func TestQuestions(t *testing.T) {
	e := edit(t, `{"turns": [
	  {"calls": [{"tool": "ask_user", "args": {"questions": [{"question": "Which one?", "header": "Colour", "type": "choice", "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]}]}}]},
	  {"calls": [{"tool": "ask_user", "args": {"questions": [{"question": "Your name?", "header": "Name", "type": "text"}]}}]},
	  {"text": "ok"}]}`)
	e.answer = selects("answer_1")
	require.Equal(t, sdk.StopReasonEndTurn, e.say(e.open(false), "Ask me."))
	require.Len(t, e.asked, 1)
	require.Len(t, e.asked[0].Options, 3)
	all := e.take()
	require.Contains(t, said(all), "The model asks: Your name?\nThis editor cannot ask for text here")
	var outputs string
	for _, c := range callsOf(t, all) {
		outputs += c.output()
	}
	require.Contains(t, outputs, "Blue")
	require.NotContains(t, outputs, "Red")
}

// FD-02: without a key for the model the editor receives that authentication is required,
// and authentication succeeds only with one.
func TestAuthentication(t *testing.T) {
	e := edit(t, `{"turns": [{"text": "ok"}]}`, func(g *program.Flags) { g.Model = "gemini:gemini-2.5-pro" })
	_, err := e.conn.NewSession(t.Context(), sdk.NewSessionRequest{Cwd: e.dir, McpServers: []sdk.McpServer{}})
	require.ErrorContains(t, err, "-32000")
	require.ErrorContains(t, err, "fettle setup")
	_, err = e.conn.Authenticate(t.Context(), sdk.AuthenticateRequest{MethodId: setupMethod})
	require.ErrorContains(t, err, "-32000")
	_, err = e.conn.Authenticate(t.Context(), sdk.AuthenticateRequest{MethodId: "another"})
	require.ErrorContains(t, err, "-32602")
	t.Setenv("GEMINI_API_KEY", "a key of this test")
	_, err = e.conn.Authenticate(t.Context(), sdk.AuthenticateRequest{MethodId: setupMethod})
	require.NoError(t, err)
	_, err = e.conn.NewSession(t.Context(), sdk.NewSessionRequest{Cwd: e.dir, McpServers: []sdk.McpServer{}})
	require.NoError(t, err)
}

// FD-02: several sessions of one connection are independent, also with the same
// directory; loading an open session replaces it.
func TestSeveralSessions(t *testing.T) {
	e := edit(t, patchTurns)
	one := e.open(false)
	other, err := e.conn.NewSession(t.Context(), sdk.NewSessionRequest{Cwd: e.dir, McpServers: []sdk.McpServer{}})
	require.NoError(t, err)
	require.NotEqual(t, one, other.SessionId)
	_, err = e.conn.SetSessionMode(t.Context(), sdk.SetSessionModeRequest{SessionId: other.SessionId, ModeId: "plan"})
	require.NoError(t, err)
	require.Equal(t, sdk.StopReasonEndTurn, e.say(one, "Make it loud."))
	require.Len(t, e.asked, 1)
	list, err := e.conn.ListSessions(t.Context(), sdk.ListSessionsRequest{})
	require.NoError(t, err)
	require.Len(t, list.Sessions, 1, "the other one had no prompt")
	require.Equal(t, e.dir, list.Sessions[0].Cwd)
	e.take()
	_, err = e.conn.LoadSession(t.Context(), sdk.LoadSessionRequest{SessionId: one, Cwd: e.dir, McpServers: []sdk.McpServer{}})
	require.NoError(t, err)
	all := e.take()
	require.Equal(t, "I read it.Finished.", said(all))
	require.Equal(t, "SafePatch: Patch f.txt", callsOf(t, all)[2].Title)
	_, err = e.conn.ListSessions(t.Context(), sdk.ListSessionsRequest{Cwd: sdk.Ptr("relative")})
	require.ErrorContains(t, err, "-32602")
	_, err = e.conn.ListSessions(t.Context(), sdk.ListSessionsRequest{Cursor: sdk.Ptr("2")})
	require.ErrorContains(t, err, "-32602")
}

// FD-02: a refused request to load or resume an open session has no effect on it, not even on its prompt.
func TestRefusedLoad(t *testing.T) {
	e := edit(t, `{"turns": [{"calls": [{"tool": "run_shell_command", "args": {"command": "touch begun; until [ -e go ]; do sleep 0.01; done"}}]}, {"text": "ok"}, {"text": "again"}]}`)
	id := e.open(false)
	done := make(chan sdk.StopReason, 1)
	go func() { done <- e.say(id, "Run it.") }()
	e.until(func(u sdk.SessionUpdate) bool {
		return u.ToolCallUpdate != nil && u.ToolCallUpdate.Status != nil && *u.ToolCallUpdate.Status == sdk.ToolCallStatusInProgress
	})
	elsewhere := t.TempDir()
	_, err := e.conn.LoadSession(t.Context(), sdk.LoadSessionRequest{SessionId: id, Cwd: elsewhere, McpServers: []sdk.McpServer{}})
	require.ErrorContains(t, err, "-32002")
	_, err = e.conn.ResumeSession(t.Context(), sdk.ResumeSessionRequest{SessionId: id, Cwd: elsewhere, McpServers: []sdk.McpServer{}})
	require.ErrorContains(t, err, "-32002")
	e.write("go", "")
	require.Equal(t, sdk.StopReasonEndTurn, <-done)
	require.Equal(t, sdk.StopReasonEndTurn, e.say(id, "Again."))
	require.Equal(t, "okagain", said(e.take()))
}

// FD-02: requests to load one session at the same time succeed.
func TestConcurrentLoads(t *testing.T) {
	e := edit(t, `{"turns": [{"text": "one"}, {"text": "two"}]}`)
	id := e.open(false)
	require.Equal(t, sdk.StopReasonEndTurn, e.say(id, "Say one."))
	failures := make(chan error, 3)
	for range cap(failures) {
		go func() {
			_, err := e.conn.LoadSession(t.Context(), sdk.LoadSessionRequest{SessionId: id, Cwd: e.dir, McpServers: []sdk.McpServer{}})
			failures <- err
		}()
	}
	for range cap(failures) {
		require.NoError(t, <-failures)
	}
	e.take()
	require.Equal(t, sdk.StopReasonEndTurn, e.say(id, "Say it."))
	require.NotEmpty(t, said(e.take()))
}

// FD-02: the sessions end with the connection although the editor does not read.
func TestEndsWithoutReader(t *testing.T) {
	a, dir := agentOf(t, patchTurns)
	toAgent, fromEditor := io.Pipe()
	toEditor, fromAgent := io.Pipe()
	done := a.connect(fromAgent, toAgent)
	line, err := json.Marshal(sdk.NewSessionRequest{Cwd: dir, McpServers: []sdk.McpServer{}})
	require.NoError(t, err)
	_, err = fmt.Fprintf(fromEditor, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":%s}`+"\n", line)
	require.NoError(t, err)
	answer, err := bufio.NewReaderSize(toEditor, 16).ReadString('\n')
	require.NoError(t, err)
	var m struct{ Result sdk.NewSessionResponse }
	require.NoError(t, json.Unmarshal([]byte(answer), &m), answer)
	_, err = fmt.Fprintf(fromEditor, `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"Hi"}]}}`+"\n", m.Result.SessionId)
	require.NoError(t, err)
	require.NoError(t, fromEditor.Close())
	<-done
	s, err := a.session(m.Result.SessionId)
	require.NoError(t, err)
	a.endAll()
	select {
	case <-s.done:
	default:
		t.Error("the session has not ended")
	}
	require.NoError(t, toEditor.Close()) // the write that was left behind
}

// FD-02: a session that takes a while to end can send its last messages if the editor reads;
// if it does not, the end takes no longer than the write may.
func TestEndWaitsForMessages(t *testing.T) {
	for name, reads := range map[string]bool{"reads": true, "does not read": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, out := io.Pipe()
				if reads {
					go func() { _, _ = io.Copy(io.Discard, in) }()
				}
				ctx, cancel := context.WithCancel(t.Context())
				s := &session{close: cancel, done: make(chan struct{})}
				a := &server{sessions: map[string]*session{"s": s}, out: frames.NewWriter(out)}
				var err error
				go func() {
					defer close(s.done)
					<-ctx.Done()
					time.Sleep(3 * writeGrace) // a command ends
					_, err = a.out.Write([]byte("{}\n"))
				}()
				start := time.Now()
				a.endAll()
				<-s.done
				if reads {
					require.NoError(t, err)
					require.Equal(t, 3*writeGrace, time.Since(start))
				} else {
					require.ErrorIs(t, err, io.ErrClosedPipe)
					require.LessOrEqual(t, time.Since(start), 4*writeGrace+writeGrace/10)
				}
				require.NoError(t, in.Close())
			})
		})
	}
}
