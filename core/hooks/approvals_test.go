package hooks

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// EX-11: the fingerprint changes with the definition and with each file of the
// project that the command names, and with nothing else.
func TestFingerprint(t *testing.T) {
	project := filepath.Join(t.TempDir(), "a project")
	require.NoError(t, os.MkdirAll(filepath.Join(project, "hooks", "in"), 0o755))
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(project, name), []byte(text), 0o644))
	}
	vars := map[string]string{"FETTLE_PROJECT_DIR": project}
	of := func(h Hook) string {
		t.Helper()
		sum, err := Fingerprint(&h, project, vars)
		require.NoError(t, err)
		return sum
	}
	for _, name := range []string{"hooks/a.sh", "hooks/b c.sh", "other.sh"} {
		write(name, "1")
	}
	for _, command := range []string{
		"hooks/a.sh", "bash ./hooks/a.sh --x", `"$FETTLE_PROJECT_DIR/hooks/a.sh" y`, "${FETTLE_PROJECT_DIR}/hooks/a.sh", project + "/hooks/a.sh",
		"true && sh hooks/a.sh; true", "x --file=hooks/a.sh", "sh 'hooks/a.sh'", "cat <hooks/a.sh", "(hooks/a.sh)", "$FETTLE_PROJECT_DIR/hooks/a.sh|cat",
	} {
		h := Hook{Event: BeforeTool, Command: command}
		before := of(h)
		write("other.sh", "2")
		require.Equal(t, before, of(h), command)
		write("hooks/a.sh", "2")
		require.NotEqual(t, before, of(h), command)
		write("hooks/a.sh", "1")
		require.Equal(t, before, of(h), command)
		write("other.sh", "1")
	}
	h := Hook{Event: BeforeTool, Command: `sh "hooks/b c.sh"`}
	before := of(h)
	write("hooks/b c.sh", "2")
	require.NotEqual(t, before, of(h), "a quoted path")

	base := Hook{Event: BeforeTool, Command: "c"}
	for _, other := range []Hook{
		{Event: AfterTool, Command: "c"}, {Event: BeforeTool, Command: "d"}, {Event: BeforeTool, Command: "c", Matcher: "m"},
		{Event: BeforeTool, Command: "c", Env: map[string]string{"A": ""}}, {Event: BeforeTool, Command: "c", Timeout: 1},
		{Event: BeforeTool, Command: "c", Name: "n"}, {Event: BeforeTool, Command: "c", Sequential: true},
	} {
		require.NotEqual(t, of(base), of(other))
	}
	moved := base
	moved.Line, moved.Description = 7, "d"
	require.Equal(t, of(base), of(moved))
}

func TestApprovals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "home", "trusted_hooks.json")
	a := OpenApprovals(path)
	none, err := a.Of("/p")
	require.NoError(t, err)
	require.False(t, none.Seen || none.Has("x"))
	require.NoError(t, a.Record(t.Context(), "/p", map[string]string{"aa": "one", "bb": "two"}))
	require.NoError(t, a.Record(t.Context(), "/q", map[string]string{"cc": "three"}))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
	got, err := a.Of("/p")
	require.NoError(t, err)
	require.True(t, got.Seen && got.Has("aa") && got.Has("bb") && !got.Has("cc"))

	require.NoError(t, a.Record(t.Context(), "/p", map[string]string{"dd": "four"}))
	got, err = a.Of("/p")
	require.NoError(t, err)
	require.True(t, got.Has("dd") && !got.Has("aa"), "they take the place of the others")

	// Another program's entries say nothing and stay.
	require.NoError(t, os.WriteFile(path, []byte(`{"/p": ["guard:./g.sh"], /* x */ }`), 0o600))
	got, err = a.Of("/p")
	require.NoError(t, err)
	require.False(t, got.Seen)
	require.NoError(t, a.Record(t.Context(), "/p", map[string]string{"aa": "one"}))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "guard:./g.sh")

	require.NoError(t, os.WriteFile(path, []byte(`{"/p": 1}`), 0o600))
	_, err = a.Of("/p")
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(a.Record(t.Context(), "/p", nil)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, fault.Cancelled, fault.CodeOf(a.Record(ctx, "/p", nil)))
}
