package chat

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/interactive"
)

// hooked writes hooks of the user that append their input to the file events.
func hooked(t *testing.T) func(home string) {
	return func(home string) {
		require.NoError(t, os.MkdirAll(filepath.Join(home, ".fettle"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(home, ".fettle", "hooks.toml"), []byte(`
[hooks.SessionEnd]
hooks = [{type = "command", command = "tr -d '\\n' >> events; echo >> events; echo '{\"systemMessage\": \"a session ended\"}'"}]
[hooks.SessionStart]
hooks = [{type = "command", command = "tr -d '\\n' >> events; echo >> events; echo '{\"systemMessage\": \"a session began\", \"hookSpecificOutput\": {\"additionalContext\": \"from the hook\"}}'"}]
`), 0o600))
	}
}

// sessionEvents returns the events of [hooked] since the last call: name, cause and ID of
// the session.
func sessionEvents(t *testing.T, project string) (events [][3]string) {
	path := filepath.Join(project, "events")
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	for line := range strings.Lines(string(text)) {
		var in struct {
			Event  string `json:"hook_event_name"`
			ID     string `json:"session_id"`
			Source string `json:"source"`
			Reason string `json:"reason"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &in))
		events = append(events, [3]string{in.Event, in.Source + in.Reason, in.ID})
	}
	return events
}

// EX-06: each command that changes the session ends the current session and starts the
// next one for its hooks, each with its own ID. The context of the start precedes the
// next prompt.
func TestChangesOfSessionRunHooks(t *testing.T) {
	chatting(t, `{"turns": [{"text": "First."}, {"text": "Second."},
		{"text": "Third.", "expect": {"prompt": "from the hook"}}, {"text": "Fourth.", "expect": {"prompt": "from the hook"}}]}`,
		func(ctx context.Context, c *chat, project string) {
			first := c.config.SessionID()
			require.Equal(t, [][3]string{{"SessionStart", "startup", first}}, sessionEvents(t, project))
			submit(ctx, c, "Say something.")
			submit(ctx, c, "/chat save one")
			submit(ctx, c, "/clear")
			second := c.config.SessionID()
			require.Equal(t, [][3]string{{"SessionEnd", "clear", first}, {"SessionStart", "clear", second}}, sessionEvents(t, project))
			submit(ctx, c, "Say more.")

			all := submit(ctx, c, "/chat resume one")
			third := c.config.SessionID()
			require.NotContains(t, []string{first, second}, third)
			require.Equal(t, [][3]string{{"SessionEnd", "other", second}, {"SessionStart", "resume", third}}, sessionEvents(t, project))
			require.Equal(t, interactive.EventHistory, all[0].Kind)
			text := textsOf(all, interactive.EventMessage)
			require.Contains(t, text, "a session ended")
			require.Contains(t, text, "a session began")
			require.Equal(t, "Third.", answered(submit(ctx, c, "With context.")))

			submit(ctx, c, "/resume "+first)
			require.Equal(t, [][3]string{{"SessionEnd", "other", third}, {"SessionStart", "resume", first}}, sessionEvents(t, project))
			require.Equal(t, "Fourth.", answered(submit(ctx, c, "With context again.")))

			for _, same := range []string{"/chat resume none", "/resume none", "/resume " + first, "/rewind", "/chat list", "/compress"} {
				submit(ctx, c, same)
				require.Equal(t, first, c.config.SessionID(), same)
				require.Empty(t, sessionEvents(t, project), same)
			}
		}, hooked(t))
}
