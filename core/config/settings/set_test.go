package settings_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
)

func TestSet(t *testing.T) {
	for name, tt := range map[string]struct {
		before, key string
		value       any
		after       string
	}{
		"an empty file":        {"", "model.name", "m", "{\n  \"model\": {\n    \"name\": \"m\"\n  }\n}\n"},
		"only a comment":       {"// mine\n", "policyPaths", []string{"a"}, ""},
		"an empty object":      {"{}", "useWriteTodos", false, "{\n  \"useWriteTodos\": false\n}"},
		"a comment in it":      {"{ // mine\n}\n", "useWriteTodos", false, "{ // mine\n  \"useWriteTodos\": false\n}\n"},
		"a value":              {"{\"model\": {\"name\": /* was */ \"a\" /* b */}} // end", "model.name", "<m>&", "{\"model\": {\"name\": /* was */ \"<m>&\" /* b */}} // end"},
		"a key beside another": {"{\n\t\"model\": {\n\t\t\"name\": \"a\" // why\n\t}\n}\n", "model.maxSessionTurns", 3, "{\n\t\"model\": {\n\t\t\"name\": \"a\", // why\n\t\t\"maxSessionTurns\": 3\n\t}\n}\n"},
		"a trailing comma":     {"{\n  \"model\": \"a\",\n}\n", "useWriteTodos", true, "{\n  \"model\": \"a\",\n  \"useWriteTodos\": true,\n}\n"},
		"one line":             {`{"model": {"name": "a"}}`, "model.compressionThreshold", 0.5, `{"model": {"name": "a", "compressionThreshold": 0.5}}`},
		"one line, a comma":    {`{"model": {"name": "a",}}`, "model.compressionThreshold", 0.5, `{"model": {"name": "a", "compressionThreshold": 0.5}}`},
		"CRLF":                 {"{\r\n  \"model\": \"a\"\r\n}\r\n", "tools.core", []string{"read_file", "glob"}, "{\r\n  \"model\": \"a\",\r\n  \"tools\": {\r\n    \"core\": [\"read_file\", \"glob\"]\r\n  }\r\n}\r\n"},
		"a mark":               {"\ufeff{\"useWriteTodos\": true}", "useWriteTodos", false, "\ufeff{\"useWriteTodos\": false}"},
		"a list":               {`{"tools": {"core": [1, 2]}}`, "tools.core", []string{"read_file", "glob"}, `{"tools": {"core": ["read_file", "glob"]}}`},
		"a short form":         {"{\n  \"model\": \"a\"\n}", "model.maxSessionTurns", 3, "{\n  \"model\": {\n    \"maxSessionTurns\": 3,\n    \"name\": \"a\"\n  }\n}"},
		"in a short form":      {`{"sandbox": "docker"}`, "tools.sandbox.enabled", false, "{\"sandbox\": {\n  \"command\": \"docker\",\n  \"enabled\": false\n}}"},
		"by a short form":      {`{"tools": {"sandbox": {"image": "i", "enabled": false}}}`, "sandbox", "landlock", `{"tools": {"sandbox": {"image": "i", "enabled": true, "command": "landlock"}}}`},
		"by another name":      {`{"approvalMode": "plan"}`, "general.defaultApprovalMode", "auto_edit", `{"approvalMode": "auto_edit"}`},
		"a text for a number":  {`{}`, "tools.shell.inactivityTimeout", "30", "{\n  \"tools\": {\n    \"shell\": {\n      \"inactivityTimeout\": 30\n    }\n  }\n}"},
		"the later of two":     {`{"useWriteTodos": true, "useWriteTodos": true}`, "useWriteTodos", false, `{"useWriteTodos": true, "useWriteTodos": false}`},
		"servers":              {`{"mcpServers": {"A.b": {}}}`, "mcpServers", map[string]any{"X.y": map[string]any{"env": map[string]any{"Key": "v"}}}, "{\"mcpServers\": {\n  \"X.y\": {\n    \"env\": {\n      \"Key\": \"v\"\n    }\n  }\n}}"},
		"taken out":            {"{\n  \"model\": \"a\",\n  // kept\n  \"useWriteTodos\": true // gone\n}\n", "useWriteTodos", nil, "{\n  \"model\": \"a\"\n  // kept\n   // gone\n}\n"},
		"taken out, the first": {"{\n  \"useWriteTodos\": true,\n  \"model\": \"a\"\n}\n", "useWriteTodos", nil, "{\n  \"model\": \"a\"\n}\n"},
		"taken out of a form":  {`{"sandbox": "docker"}`, "tools.sandbox.command", nil, "{\"sandbox\": {\n  \"enabled\": true\n}}"},
		"taken out by a form":  {`{"sandbox": {"command": "docker", "image": "i", "enabled": true}}`, "sandbox", nil, `{"sandbox": { "image": "i" }}`},
		"a form taken out":     {`{"model": "a", "useWriteTodos": true}`, "model", nil, `{ "useWriteTodos": true}`},
		"a form, not there":    {`{"model": {"maxSessionTurns": 3}}`, "model", nil, `{"model": {"maxSessionTurns": 3}}`},
		"not there":            {`{"a": 1}`, "useWriteTodos", nil, `{"a": 1}`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "settings.json")
			require.NoError(t, os.WriteFile(path, []byte(tt.before), 0o640))
			require.NoError(t, settings.Set(t.Context(), path, tt.key, tt.value))
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			switch name {
			case "only a comment":
				require.Contains(t, string(data), `"policyPaths": ["a"]`)
				require.Contains(t, string(data), "// mine")
			default:
				require.Equal(t, tt.after, string(data))
			}
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o640), info.Mode().Perm(), "the mode stays")
		})
	}
}

func TestSetRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		before, key string
		value       any
		says        string
	}{
		"an unknown key":        {"{}", "tools.shel.inactivityTimeout", 1, "Did you mean tools.shell.inactivityTimeout?"},
		"a wrong value":         {"{}", "general.defaultApprovalMode", "fast", "one of default, auto_edit, autoEdit, auto, plan, yolo"},
		"a wrong number":        {"{}", "general.maxAttempts", 11, "a whole number from 1 to 10"},
		"half a number":         {"{}", "general.maxAttempts", 1.5, "a whole number from 1 to 10"},
		"a wrong server":        {"{}", "mcpServers", map[string]any{"s": map[string]any{"args": "x"}}, "mcpServers.s.args"},
		"a wrong key of one":    {"{}", "mcpServers", map[string]any{"s": map[string]any{"comand": "x"}}, "mcpServers.s.comand"},
		"a group taken out":     {"{\"tools\": {}}", "tools", nil, "Name one of its keys, for example tools.core."},
		"a group, mistyped":     {"{}", "tools.shel", 1, "Did you mean tools.shell?"},
		"a group":               {"{}", "tools", "x", "Name one of its keys, for example tools.core."},
		"a broken file":         {"{\n  \"a\": }", "useWriteTodos", true, "settings.json:2:8: It is not a valid settings file"},
		"a group that is none":  {"{\n\"tools\": 5}", "tools.core", []string{}, "tools in line 2 should be an object"},
		"a group in it is none": {"{\"tools\": {\"shell\": true}}", "tools.shell.pager", "x", "tools.shell in line 1 should be an object"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "settings.json")
			require.NoError(t, os.WriteFile(path, []byte(tt.before), 0o644))
			err := settings.Set(t.Context(), path, tt.key, tt.value)
			require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), "%v", err)
			require.Contains(t, fault.As(err).Line(), tt.says)
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, tt.before, string(data))
		})
	}
}

// A new file has a private mode; a link is followed.
func TestSetMakesFile(t *testing.T) {
	top := t.TempDir()
	link := filepath.Join(top, "home", "settings.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(link), 0o755))
	require.NoError(t, os.Symlink(filepath.Join("..", "dotfiles", "real.json"), link))
	require.NoError(t, settings.Set(t.Context(), link, "model", "m"))
	info, err := os.Lstat(filepath.Join(top, "dotfiles", "real.json"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	info, err = os.Lstat(link)
	require.NoError(t, err)
	require.Equal(t, os.ModeSymlink, info.Mode().Type())

	loop := filepath.Join(top, "loop")
	require.NoError(t, os.Symlink(loop, loop))
	require.Equal(t, fault.FileWriteFailure, fault.CodeOf(settings.Set(t.Context(), loop, "model", "m")))
}

func TestSetCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := filepath.Join(t.TempDir(), "settings.json")
	require.Equal(t, fault.Cancelled, fault.CodeOf(settings.Set(ctx, path, "model", "m")))
	require.NoFileExists(t, path)
}

// Concurrent calls lose nothing, and no other file is left.
func TestSetAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	require.NoError(t, os.WriteFile(path, []byte("{ // mine\n}\n"), 0o644))
	keys := []string{"model.name", "ui.theme", "tools.callCommand", "web.search.url", "general.preferredEditor"}
	var wg sync.WaitGroup
	for i, key := range keys {
		wg.Go(func() {
			for j := range 5 {
				if err := settings.Set(t.Context(), path, key, fmt.Sprintf("%d-%d", i, j)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	r, err := settings.Load(t.Context(), settings.Options{File: path})
	require.NoError(t, err)
	for i, key := range keys {
		require.Equal(t, fmt.Sprintf("%d-4", i), r.Value(key))
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(data), "// mine")
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.True(t, len(left) == 1 || runtime.GOOS == "windows", "%v", left)
}
