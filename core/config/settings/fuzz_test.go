package settings_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/internal/fuzzseed"
)

// FuzzProject: whatever a project's file contains, nothing panics, and while its
// directory is untrusted nothing is looser than without it (CF-09); the
// confinement of commands is not looser even in a trusted directory.
func FuzzProject(f *testing.F) {
	fuzzseed.Add(f)
	for _, seed := range []string{
		`{}`, `{"approvalMode":"yolo","sandbox":false}`, `{"tools":{"core":["a","b(c)"],"exclude":[1,"x"],"sandbox":"docker"}}`,
		`{"tools":{"shell":{"inactivityTimeout":-1}},"mcpServers":{"x":{"trust":true}},"hooks":{"E":[{"hooks":[]}]}}`,
		`{"general":{"defaultApprovalMode":"$YOLO"},"mcp":{"allowed":["z"]},"web":{"allowPrivateAddresses":"$TRUE","search":{"url":"$SECRET"}}}`,
		"// c\n{\"a\":[1,],}", `{"tools":{"sandbox":{"command":5}}}`, `{"tools":null,"tools":{"core":null}}`, "\xff", `[`, `{"model":1e999}`,
		`{"mcpServers":{"":{"timeout":1e300}}}`,
		`{"mcpServers":{"a":{"timeout":1e300,"oauth":{"scopes":[1]}}},"hooks":{"E":[{"hooks":[{"type":"command","command":"c","timeout":-0.5}]}]},"model":{"summarizeToolOutput":{"x":{"tokenBudget":5.0}}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m := newMachine(t)
		m.DefaultTools = []string{"a", "b"}
		m.Environ = []string{"SECRET=s3cret", "YOLO=yolo", "TRUE=true"}
		m.user(`{"tools": {"sandbox": {"command": "docker", "image": "i", "networkAccess": false}, "exclude": ["x"]}, "mcp": {"allowed": ["s"]}}`)
		without := m.load()
		m.project(string(text))
		r := m.load()
		for _, k := range settings.Keys() {
			requireNotLooser(t, k, without.Value(k.Path), r.Value(k.Path))
		}
		m.Trusted = true
		trusted := m.load() // nor does anything panic if all of it applies
		for _, k := range settings.Keys() {
			if k.Always || k.Outside || k.Project == settings.ProjectNever { // commands are confined
				requireNotLooser(t, k, without.Value(k.Path), trusted.Value(k.Path))
			}
		}
		all, err := json.Marshal(r.Settings)
		require.NoError(t, err)
		if !bytes.Contains(text, []byte("s3cret")) {
			require.NotContains(t, string(all), "s3cret")
		}
	})
}

// requireNotLooser states each rule independently.
func requireNotLooser(t *testing.T, k settings.Key, before, after any) {
	t.Helper()
	if reflect.DeepEqual(before, after) {
		return
	}
	list := func(v any) []any {
		l, _ := v.([]any)
		return l
	}
	number := func(v any) float64 {
		n, ok := v.(float64)
		require.True(t, ok, k.Path)
		return n
	}
	switch k.Project {
	case settings.ProjectFree:
	case settings.ProjectTrue:
		require.Equal(t, true, after, k.Path)
	case settings.ProjectFalse:
		require.Equal(t, false, after, k.Path)
	case settings.ProjectAdd:
		require.Subset(t, list(after), list(before), k.Path)
	case settings.ProjectWithin:
		limit := list(before)
		if k.Path == "tools.core" && before == nil {
			limit = []any{"a", "b"}
		}
		for _, entry := range list(after) {
			text, ok := entry.(string)
			require.True(t, ok)
			require.True(t, slices.ContainsFunc(limit, func(l any) bool {
				name, _ := l.(string)
				return text == name || len(text) > len(name) && text[:len(name)] == name
			}), "%s: %s", k.Path, text)
		}
	case settings.ProjectLower:
		require.Positive(t, number(after), k.Path)
		require.True(t, number(before) <= 0 || number(after) < number(before), k.Path)
	case settings.ProjectStricter:
		require.Equal(t, "plan", after, k.Path) // before it is default
	default:
		t.Fatalf("%s: %v has become %v", k.Path, before, after)
	}
}

// FuzzSet: setting a key in any file either refuses and leaves it unchanged, or
// the key is read back, and no other key has changed.
func FuzzSet(f *testing.F) {
	fuzzseed.Add(f)
	for _, seed := range []string{"", "{}", "// c", `{"model":"a"}`, `{"model":{"name":"a",},}`, "{\n\t\"tools\": {\n\t\t\"sandbox\": true // c\n\t}\n}", `{"useWriteTodos":1}`, "{\r\n}", "\ufeff{}"} {
		for key := range uint8(4) {
			f.Add([]byte(seed), key)
		}
	}
	keys := []struct {
		path  string
		value any
	}{{"model.name", "new"}, {"tools.sandbox.image", "new"}, {"useWriteTodos", nil}, {"tools.core", []any{"a"}}}
	f.Fuzz(func(t *testing.T, text []byte, which uint8) {
		key := keys[int(which)%len(keys)]
		path := filepath.Join(t.TempDir(), "settings.json")
		require.NoError(t, os.WriteFile(path, text, 0o600))
		o := settings.Options{File: path, Layout: layout.Layout{Name: "none"}}
		before, loadErr := settings.Load(t.Context(), o)
		if err := settings.Set(t.Context(), path, key.path, key.value); err != nil {
			after, readErr := os.ReadFile(path)
			require.NoError(t, readErr)
			require.Equal(t, text, after)
			return
		}
		if loadErr != nil {
			t.Fatalf("%q was set though it cannot be read: %v", text, loadErr)
		}
		after, err := settings.Load(t.Context(), o)
		require.NoError(t, err)
		for _, k := range settings.Keys() {
			switch {
			case k.Path != key.path:
				require.Equal(t, before.Value(k.Path), after.Value(k.Path), k.Path)
			case key.value != nil:
				require.Equal(t, key.value, after.Value(k.Path))
			default:
				require.Len(t, after.Origins(k.Path), 1)
			}
		}
	})
}
