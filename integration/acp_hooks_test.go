package integration_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FD-02, EX-06: a session of an editor runs the hooks of the start and end as in a
// terminal, also if it is loaded again, closed, or still open at the end of stdin.
func TestACPSessionHooks(t *testing.T) {
	t.Parallel()
	e := acp(t, `{"turns": [{"text": "One."}, {"text": "Two."}]}`)
	ran := filepath.Join(e.home, "ran")
	// The hooks of the user are read when a session begins.
	require.NoError(t, os.MkdirAll(filepath.Join(e.home, ".fettle"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(e.home, ".fettle", "hooks.toml"), []byte(`
[hooks.SessionStart]
hooks = [{type = "command", command = "tr -d '\\n' >> `+ran+`; echo >> `+ran+`"}]
[hooks.SessionEnd]
hooks = [{type = "command", command = "tr -d '\\n' >> `+ran+`; echo >> `+ran+`"}]
`), 0o600))
	events := func() (all [][3]string) {
		text, err := os.ReadFile(ran)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			var in struct {
				Event  string `json:"hook_event_name"`
				ID     string `json:"session_id"`
				Source string `json:"source"`
				Reason string `json:"reason"`
			}
			require.NoError(t, json.Unmarshal([]byte(line), &in))
			all = append(all, [3]string{in.Event, in.Source + in.Reason, in.ID})
		}
		return all
	}
	open := func(method, id string) {
		e.request(method, map[string]any{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}})
		require.Equal(t, "end_turn", e.prompt(id, "Go on.")) // after the hooks of the start
	}
	id := e.open()
	require.Equal(t, "end_turn", e.prompt(id, "Begin."))
	open("session/load", id) // the open one is closed
	e.request("session/close", map[string]any{"sessionId": id})
	require.Equal(t, [][3]string{
		{"SessionStart", "startup", id}, {"SessionEnd", "exit", id}, {"SessionStart", "resume", id}, {"SessionEnd", "exit", id},
	}, events())
	open("session/resume", id)
	require.NoError(t, e.in.Close())
	require.NoError(t, e.cmd.Wait())
	all := events()
	require.Equal(t, [][3]string{{"SessionStart", "resume", id}, {"SessionEnd", "exit", id}}, all[4:])
}
