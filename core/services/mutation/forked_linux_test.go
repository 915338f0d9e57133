package mutation_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/mutation"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// newForked is newFixture on a fork of the directory.
func newForked(t *testing.T) (*fixture, func(workspace.Path) string) {
	t.Helper()
	fx := newFixture(t)
	upper, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	fx.files, err = workspace.OpenOverlays([]workspace.Overlay{{Dir: fx.dir, Upper: upper}}, fx.dir)
	require.NoError(t, err)
	t.Cleanup(func() { fx.files.Close() })
	fx.state = filestate.New(filestate.Options{Files: fx.files})
	fx.Service = mutation.New(mutation.Options{Files: fx.files, State: fx.state, Committer: commit.New(commit.Options{})})
	return fx, func(p workspace.Path) string {
		f, err := fx.files.OpenRead(p)
		require.NoError(t, err)
		defer f.Close()
		data, err := io.ReadAll(f)
		require.NoError(t, err)
		return string(data)
	}
}

// FK-02: a file that was read in the project counts as read when the fork gets its copy, and after each edit.
func TestForkEditsAfterOneRead(t *testing.T) {
	fx, shown := newForked(t)
	p := fx.known("a.txt", "text\n")
	require.Nil(t, fx.Commit(t.Context(), fx.Plan(t.Context(), upper(p))).Err)
	require.Equal(t, "TEXT\n", shown(p))
	for range 2 {
		plan := fx.Plan(t.Context(), mutation.Request{Path: p, Verb: verb, Compute: func(b mutation.Base) (mutation.Change, *fault.Error) {
			return mutation.Change{Text: b.Text + "more\n"}, nil
		}})
		require.Nil(t, fx.Commit(t.Context(), plan).Err)
	}
	require.Equal(t, "TEXT\nmore\nmore\n", shown(p))
	require.Equal(t, "text\n", fx.content(p), "the project")
}

// FK-02: an editor's change of the project shows until the fork has its own version, and refuses a change that
// was planned before it.
func TestForkBesideAnEditor(t *testing.T) {
	fx, shown := newForked(t)
	p := fx.known("a.txt", "text\n")
	plan := fx.Plan(t.Context(), upper(p))
	require.Nil(t, plan.Refused())
	fx.write("a.txt", "the editor's\n")
	require.Equal(t, "the editor's\n", shown(p))
	requireRefusal(t, fx.Commit(t.Context(), plan).Err, fault.FileChangedSinceRead, fault.Changed)
	require.Equal(t, "the editor's\n", shown(p))

	unread := fx.write("b.txt", "unread\n")
	requireRefusal(t, fx.Plan(t.Context(), upper(unread)).Refused(), fault.EditRequiresPriorRead, fault.NeverRead)

	p = fx.known("c.txt", "text\n")
	require.Nil(t, fx.Commit(t.Context(), fx.Plan(t.Context(), upper(p))).Err)
	fx.write("c.txt", "the editor's\n")
	require.Equal(t, "TEXT\n", shown(p), "the fork has its own version")
	require.NoError(t, os.Remove(p.String()))
	require.Equal(t, "TEXT\n", shown(p))
}
