package workspace

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// A read-only directory is read like any other, by its name and through links, and is not part of
// the project.
func TestReadOnlyIsRead(t *testing.T) {
	onEach(t, func(t *testing.T, start func(...string) *Workspace) {
		top := tree(t, "project/in ->$/skill/scripts", "project/abs ->$/skill", "skill/scripts/run.sh go", "skill/out ->$/secret", "secret s")
		w := start(filepath.Join(top, "project"))
		_, err := w.Resolve(filepath.Join(top, "skill/scripts/run.sh"))
		require.Equal(t, fault.PathNotInWorkspace, fault.CodeOf(err))
		require.NoError(t, w.AddReadOnly(filepath.Join(top, "skill")))
		require.NoError(t, w.AddReadOnly(filepath.Join(top, "skill")), "a second time")

		for _, name := range []string{filepath.Join(top, "skill/scripts/run.sh"), "in/run.sh", "abs/scripts/run.sh"} {
			f, err := w.OpenRead(resolve(t, w, name))
			require.NoError(t, err, name)
			data, err := io.ReadAll(f)
			require.NoError(t, err)
			require.NoError(t, f.Close())
			require.Equal(t, "go", string(data), name)
		}
		entries, err := w.ReadDir(t.Context(), resolve(t, w, filepath.Join(top, "skill")))
		require.NoError(t, err)
		require.Len(t, entries, 2)
		_, err = w.Stat(resolve(t, w, filepath.Join(top, "skill/out")))
		require.Equal(t, fault.PathNotInWorkspace, fault.CodeOf(err), "a link out of it is one out of the workspace")

		require.Equal(t, []string{filepath.Join(top, "project")}, w.Directories())
		require.Equal(t, []string{filepath.Join(top, "skill")}, w.ReadOnlyDirectories())
		require.Equal(t, filepath.Join(top, "project"), w.Target())
		require.True(t, w.IsReadOnly(resolve(t, w, filepath.Join(top, "skill/new"))))
		require.False(t, w.IsReadOnly(resolve(t, w, "in/run.sh")), "decided by the name")
	})
}

// No file in it is changed under any name, and no directory is created there.
func TestReadOnlyIsNotChanged(t *testing.T) {
	onEach(t, func(t *testing.T, start func(...string) *Workspace) {
		top := tree(t, "project/in ->$/skill/scripts", "project/up ->../skill", "project/file ->$/skill/SKILL.md", "project/new ->$/skill/absent/new",
			"project/own ok", "skill/scripts/run.sh go", "skill/SKILL.md s", "skill/back ->$/project/own")
		w := start(filepath.Join(top, "project"))
		require.NoError(t, w.AddReadOnly(filepath.Join(top, "skill")))
		for _, name := range []string{
			filepath.Join(top, "skill"), filepath.Join(top, "skill/SKILL.md"), filepath.Join(top, "skill/a/b/c"), filepath.Join(top, "skill/back"),
			"in/run.sh", "in/new.sh", "in/a/b", "up/SKILL.md", "up/new", "file", "new",
		} {
			p := resolve(t, w, name)
			_, err := w.Locate(p)
			require.Error(t, err, name)
			if filepath.Base(name) != "b" && filepath.Base(name) != "new" { // their directory is missing
				require.Equal(t, fault.PermissionDenied, fault.CodeOf(err), "%s: %v", name, err)
			}
			undo, err := w.MakeParents(p)
			require.Equal(t, fault.PermissionDenied, fault.CodeOf(err), "%s: %v", name, err)
			undo()
			err = w.Writable(p)
			require.Equal(t, fault.PermissionDenied, fault.CodeOf(err), "%s: %v", name, err)
			require.Contains(t, fault.As(err).Remedy, "Copy it into the project")
		}
		for _, name := range []string{"a", "absent"} {
			_, err := os.Lstat(filepath.Join(top, "skill", name))
			require.ErrorIs(t, err, os.ErrNotExist)
		}
		for _, name := range []string{"own", "made/new"} {
			p := resolve(t, w, name)
			require.NoError(t, w.Writable(p))
			_, err := w.MakeParents(p)
			require.NoError(t, err)
			l, err := w.Locate(p)
			require.NoError(t, err)
			require.NoError(t, l.Close())
		}
	})
}

// A writable directory stays writable, and a read-only one becomes writable when the project
// contains it.
func TestReadOnlyAndWritable(t *testing.T) {
	top := tree(t, "project/skills/a/SKILL.md x", "other/b/SKILL.md y", "alias ->$/project")
	w, err := Open(filepath.Join(top, "project"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	require.NoError(t, w.AddReadOnly(filepath.Join(top, "project/skills/a")))
	require.NoError(t, w.AddReadOnly(filepath.Join(top, "alias/skills/a")), "the same directory through a link")
	require.Empty(t, w.ReadOnlyDirectories())
	require.NoError(t, w.Writable(resolve(t, w, "skills/a/SKILL.md")))

	require.NoError(t, w.AddReadOnly(filepath.Join(top, "other/b")))
	p := resolve(t, w, filepath.Join(top, "other/b/SKILL.md"))
	require.Equal(t, fault.PermissionDenied, fault.CodeOf(w.Writable(p)))
	require.NoError(t, w.Add(filepath.Join(top, "other")))
	require.Empty(t, w.ReadOnlyDirectories())
	require.NoError(t, w.Writable(resolve(t, w, filepath.Join(top, "other/b/SKILL.md"))))
	require.Equal(t, []string{filepath.Join(top, "project"), filepath.Join(top, "other")}, w.Directories())

	require.Equal(t, fault.InvalidConfig, fault.CodeOf(w.AddReadOnly(filepath.Join(top, "absent"))))
	require.NoError(t, w.Close())
	require.Equal(t, fault.NotInitialized, fault.CodeOf(w.AddReadOnly(filepath.Join(top, "project"))))
}
