//go:build unix

package config_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/model"
)

// keyed writes an extension with a sensitive setting, and a hook that prints its
// environment into a file.
func keyed(t *testing.T, home, name, value string) {
	t.Helper()
	dir := filepath.Join(home, ".fettle", "extensions", name)
	for file, text := range map[string]string{
		"fettle-extension.json": fmt.Sprintf(`{"name": %q, "version": "1", "settings": [{"name": "Key", "envVar": "SHELF_KEY"}, {"name": "Room", "envVar": "SHELF_ROOM"},
			{"name": "not given", "envVar": "MODEL_API_KEY"}]}`, name),
		".env":             "SHELF_KEY=" + value + "\n",
		"hooks/hooks.json": `{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "env > ${workspacePath}/` + name + `.env"}]}]}}`,
	} {
		path := filepath.Join(dir, filepath.FromSlash(file))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

// Hooks of extensions see their settings and the common variables, and nothing
// else of the user's environment; the user's own hooks see all.
func TestEnvironmentOfExtensionHooks(t *testing.T) {
	home := t.TempDir()
	keyed(t, home, "shelf", "open-sesame-1")
	require.NoError(t, os.WriteFile(filepath.Join(home, ".fettle", "hooks.toml"), []byte("[[hooks.SessionStart]]\nhooks = [{type = \"command\", command = \"env > ${workspacePath}/own.env\"}]\n"), 0o644))
	s := configtest.New(t, func(p *config.Parameters) {
		p.Environment.HomeDir = home
		p.Tools.Shell.Environ = func() []string {
			return append([]string{"MODEL_API_KEY=of-the-person", "MY_NOTES=private", "SHELF_ROOM=blue", "LC_ALL=C"}, "PATH="+os.Getenv("PATH"))
		}
	})
	_, err := s.Hooks().SessionStarted(t.Context(), "startup")
	require.NoError(t, err)
	seen := func(file string) []string {
		text, err := os.ReadFile(filepath.Join(s.Dir, file))
		require.NoError(t, err)
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	own := seen("own.env")
	require.Contains(t, own, "MODEL_API_KEY=of-the-person")
	require.Contains(t, own, "MY_NOTES=private")
	theirs := seen("shelf.env")
	for _, entry := range []string{"SHELF_KEY=open-sesame-1", "LC_ALL=C", "PATH=" + os.Getenv("PATH"), "FETTLE_CWD=" + s.Dir, "CLAUDE_PROJECT_DIR=" + s.Dir, "FETTLE=1"} {
		require.Contains(t, theirs, entry)
	}
	require.False(t, slices.ContainsFunc(theirs, func(entry string) bool {
		return strings.HasPrefix(entry, "MODEL_API_KEY=") || strings.HasPrefix(entry, "MY_NOTES=")
	}), theirs)
}

// Sensitive settings of an extension are in no log and no recording, even if it
// is added while the session runs.
func TestSecretsOfExtensions(t *testing.T) {
	home := t.TempDir()
	keyed(t, home, "shelf", "open-sesame-1")
	var log strings.Builder
	var found []string
	s := configtest.New(t, func(p *config.Parameters) {
		p.Environment.HomeDir, p.Conversation.Models = home, model.Always(nil)
		p.Environment.Logger = slog.New(slog.NewTextHandler(&log, nil))
		p.Environment.SecretsFound = func(values ...string) { found = append(found, values...) }
	})
	require.Equal(t, []string{"open-sesame-1"}, found)
	chats, err := config.NewTranscripts(s.Config, nil)
	require.NoError(t, err)
	recording, err := chats.Record(t.Context(), s.Config)
	require.NoError(t, err)
	say := func(text string) {
		require.NoError(t, recording.Append(t.Context(), agent.Entry{Content: model.Content{Role: model.RoleModel, Parts: []model.Part{model.TextPart(text)}}}))
	}
	say("first open-sesame-1 end")
	keyed(t, home, "box", "open-sesame-2")
	require.NoError(t, s.Extensions().Reload(t.Context()))
	require.Equal(t, []string{"open-sesame-1", "open-sesame-2"}, found, "each is told once")
	say("second open-sesame-2 open-sesame-1 end")
	require.NoError(t, recording.Close())
	text, err := os.ReadFile(recording.Path())
	require.NoError(t, err)
	require.Contains(t, string(text), "second ")
	require.NotContains(t, string(text), "open-sesame")
	require.NotContains(t, log.String(), "open-sesame")
}
