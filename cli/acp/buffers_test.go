package acp

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/services/filestate"
)

// FD-02, FS-06: read_file shows the unsaved text of the editor with its origin and its
// own hash; the file is not changed while the text is unsaved, nor by the hash of the
// editor's text once it is saved.
func TestUnsavedText(t *testing.T) {
	text := "one\nTWO by the user\nthree\n"
	e := edit(t, `{"turns": [
	  {"calls": [{"tool": "read_file", "args": {"file_path": "f.txt"}}]},
	  {"calls": [{"tool": "safe_patch", "args": {"file_path": "f.txt", "base_content_sha256": "`+filestate.Sum([]byte("one\ntwo\nthree\n"))+`", "unified_diff": "@@\n-one\n+ONE\n"}}]},
	  {"calls": [{"tool": "safe_patch", "args": {"file_path": "f.txt", "base_content_sha256": "`+filestate.Sum([]byte(text))+`", "unified_diff": "@@\n-one\n+ONE\n"}}]},
	  {"text": "Please save."},
	  {"calls": [{"tool": "safe_patch", "args": {"file_path": "f.txt", "base_content_sha256": "`+filestate.Sum([]byte(text))+`", "unified_diff": "@@\n-one\n+ONE\n"}}]},
	  {"calls": [{"tool": "read_file", "args": {"file_path": "f.txt"}}]},
	  {"calls": [{"tool": "safe_patch", "args": {"file_path": "f.txt", "base_content_sha256": "`+filestate.Sum([]byte(text))+`", "unified_diff": "@@\n-one\n+ONE\n"}}]},
	  {"text": "Done."}
	]}`)
	e.held["f.txt"] = text
	id := e.open(true)
	require.Equal(t, sdk.StopReasonEndTurn, e.say(id, "Change it."))
	calls := callsOf(t, e.take())
	read := calls[0].output()
	require.Contains(t, read, `"origin":"editor"`)
	require.Contains(t, read, "TWO by the user")
	require.Contains(t, read, filestate.Sum([]byte(text)))
	require.NotContains(t, read, `two\n`)
	for _, patch := range calls[1:] {
		require.Equal(t, sdk.ToolCallStatusFailed, patch.states[len(patch.states)-1])
	}
	require.Contains(t, calls[1].text(), "has unsaved changes in the editor")
	raw, err := json.Marshal(calls[2].RawOutput)
	require.NoError(t, err)
	require.Contains(t, string(raw), "Ask the user to save the file; then read it again.")
	require.Equal(t, "one\ntwo\nthree\n", e.file("f.txt"))

	e.save("f.txt")
	require.Equal(t, sdk.StopReasonEndTurn, e.say(id, "I have saved it."))
	calls = callsOf(t, e.take())
	require.Contains(t, calls[0].text(), "was unsaved then")
	require.NotContains(t, calls[1].output(), "origin")
	require.Equal(t, sdk.ToolCallStatusCompleted, calls[2].states[len(calls[2].states)-1], calls[2].text())
	require.Equal(t, strings.Replace(text, "one", "ONE", 1), e.file("f.txt"))
}

// FD-02: a text that the user types while a change waits for approval prevents it.
func TestUnsavedTextDuringApproval(t *testing.T) {
	e := edit(t, patchTurns)
	yes := e.answer
	e.answer = func(ctx context.Context, r sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
		e.mu.Lock()
		e.held["f.txt"] = "one\ntwo\nthree and more\n"
		e.mu.Unlock()
		return yes(ctx, r)
	}
	require.Equal(t, sdk.StopReasonEndTurn, e.say(e.open(true), "Make it loud."))
	require.Equal(t, "one\ntwo\nthree\n", e.file("f.txt"))
	require.Contains(t, callsOf(t, e.take())[2].text(), "has unsaved changes in the editor")
}

// FD-02: a text that an editor has only normalized is not unsaved; an empty text is a
// text; an editor that does not hold the file changes nothing.
func TestSameText(t *testing.T) {
	for _, same := range [][2]string{{"a\nb\n", "a\nb\n"}, {"a\nb\n", "a\r\nb\r\n"}, {"a\nb", "a\nb\n"}, {"\ufeffa\n", "a\n"}, {"", ""}, {"", "\n"}} {
		require.True(t, sameText(same[0], same[1]), same)
	}
	for _, differs := range [][2]string{{"", "a\n"}, {"a\n", ""}, {"a\nb\n", "a\n"}, {"a\n\n", "a\n"}} {
		require.False(t, sameText(differs[0], differs[1]), differs)
	}
	for name, tt := range map[string]struct {
		held   map[string]string
		want   string
		origin bool
	}{
		"emptied":  {map[string]string{"f.txt": ""}, "one\ntwo\nthree\n", true},
		"not held": {nil, "one\nTWO\nthree\n", false},
		"CRLF":     {map[string]string{"f.txt": "one\r\ntwo\r\nthree"}, "one\nTWO\nthree\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			e := edit(t, patchTurns)
			for file, text := range tt.held {
				e.held[file] = text
			}
			require.Equal(t, sdk.StopReasonEndTurn, e.say(e.open(true), "Make it loud."))
			require.Equal(t, tt.want, e.file("f.txt"))
			require.Equal(t, tt.origin, strings.Contains(callsOf(t, e.take())[1].output(), `"origin":"editor"`))
		})
	}
}

// FD-02: policy applies before the editor is asked: a file that may not be read is not
// read through the editor either.
func TestUnsavedTextIsBehindPolicy(t *testing.T) {
	e := edit(t, `{"turns": [{"calls": [{"tool": "read_file", "args": {"file_path": "/etc/passwd"}}, {"tool": "read_file", "args": {"file_path": "f.txt"}}]}, {"text": "ok"}]}`,
		func(g *program.Flags) { g.PolicyPaths = []string{"policy.toml"} })
	e.held["passwd"], e.held["f.txt"] = "secret", "secret"
	e.write("policy.toml", "[[rule]]\ntoolName = \"read_file\"\ndecision = \"deny\"\npriority = 900\n")
	t.Chdir(e.dir)
	require.Equal(t, sdk.StopReasonEndTurn, e.say(e.open(true), "Read it."))
	for _, call := range callsOf(t, e.take()) {
		require.NotContains(t, call.output()+call.text(), "secret")
		require.Equal(t, sdk.ToolCallStatusFailed, call.states[len(call.states)-1])
	}
}

// FD-02: without an answer of the editor a file is read from the disk, and not changed.
func TestEditorDoesNotAnswer(t *testing.T) {
	e := edit(t, patchTurns)
	id := e.open(true)
	e.broken, e.agent.patience = true, 50*time.Millisecond
	require.Equal(t, sdk.StopReasonEndTurn, e.say(id, "Make it loud."))
	require.Equal(t, "one\ntwo\nthree\n", e.file("f.txt"))
	require.Contains(t, callsOf(t, e.take())[2].text(), "the editor did not answer")
}

// FD-02: a file that a prompt mentions is shown as the editor holds it.
func TestUnsavedTextOfAMention(t *testing.T) {
	e := edit(t, `{"turns": [{"expect": {"prompt": "held by the editor"}, "text": "ok"}]}`)
	e.held["f.txt"] = "held by the editor\n"
	require.Equal(t, sdk.StopReasonEndTurn, e.say(e.open(true), "What is in @f.txt?"))
	require.Equal(t, "ok", said(e.take()))
}
