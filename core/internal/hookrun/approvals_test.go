package hookrun

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/hooks"
)

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

	require.NoError(t, a.Record(t.Context(), "/p", nil))
	got, err = a.Of("/p")
	require.NoError(t, err)
	require.True(t, got.Seen && !got.Has("dd"), "it was seen without hooks")

	// Entries of another program are ignored and preserved.
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

// A project's hooks file is not read if a link leads out of the project.
func TestReadFileStaysInTheProject(t *testing.T) {
	project, elsewhere := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(elsewhere, "hooks.toml"), []byte("[hooks.BeforeTool]\nhooks = [{command = 'secret'}]\n"), 0o644))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(project, ".fettle")))
	o := Origin{Source: hooks.SourceProject, Path: filepath.Join(project, ".fettle", "hooks.toml")}
	found, problems := ReadFile(o)
	require.Empty(t, found)
	require.Len(t, problems, 1)
	require.Contains(t, problems[0].Message, "leads out of the project")
	require.NotContains(t, problems[0].Message, "secret")
	o.Source = hooks.SourceUser
	found, problems = ReadFile(o)
	require.Len(t, found, 1)
	require.Empty(t, problems)
}
