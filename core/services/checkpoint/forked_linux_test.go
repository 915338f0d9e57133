package checkpoint_test

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/checkpoint"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// shown returns all files of the view.
func shown(t *testing.T, files *workspace.Workspace, top string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	var walk func(path string)
	walk = func(path string) {
		p, err := files.Resolve(path)
		require.NoError(t, err)
		dir, err := files.OpenDir(p)
		require.NoError(t, err)
		defer dir.Close()
		require.NoError(t, dir.Names(nil, func(n workspace.Name) bool {
			name := filepath.Join(path, n.Name)
			info, err := dir.Lstat(n.Name)
			require.NoError(t, err)
			rel, _ := filepath.Rel(top, name)
			all[rel] = info.Mode.String()
			switch {
			case info.Mode.IsDir():
				walk(name)
			case info.Mode&fs.ModeSymlink != 0:
				target, err := dir.Readlink(n.Name)
				require.NoError(t, err)
				all[rel] += " " + target
			default:
				f, err := dir.Open(n.Name)
				require.NoError(t, err)
				data, err := io.ReadAll(f)
				require.NoError(t, err)
				require.NoError(t, f.Close())
				all[rel] += " " + string(data)
			}
			return true
		}))
	}
	walk(top)
	return all
}

// FK-02: a restore in a fork undoes the changes of a command there, in the fork only.
func TestRestoreInFork(t *testing.T) {
	p := newProject(t, checkpoint.Options{})
	state, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	upper, work, mounted := filepath.Join(state, "upper"), filepath.Join(state, "work"), filepath.Join(state, "mounted")
	for _, dir := range []string{upper, work, mounted} {
		require.NoError(t, os.Mkdir(dir, 0o755))
	}
	for _, name := range []string{"a", "b", "d/b", "d/c", "e/f/g", "x"} {
		p.write(name, "below "+name+"\n")
	}
	require.NoError(t, os.Symlink("a", p.path("l")))
	require.NoError(t, os.Symlink("b", p.path("gone")))
	require.NoError(t, os.Mkdir(p.path("empty"), 0o755))
	below := p.tree()

	p.files, err = workspace.OpenOverlays([]workspace.Overlay{{Dir: p.dir, Upper: upper}}, p.dir)
	require.NoError(t, err)
	defer p.files.Close()
	r := p.session("forked")
	p.r = r
	before := shown(t, p.files, p.dir)
	r.BeginTurn("change")
	p.shell(func() {
		options := fmt.Sprintf("userxattr,index=off,xino=off,lowerdir=%s,upperdir=%s,workdir=%s", p.dir, upper, work)
		if err := syscall.Mount("overlay", mounted, "overlay", 0, options); err != nil {
			t.Skip("overlays cannot be mounted:", err)
		}
		defer func() { require.NoError(t, syscall.Unmount(mounted, 0)) }()
		at := func(name string) string { return filepath.Join(mounted, name) }
		require.NoError(t, os.WriteFile(at("a"), []byte("changed\n"), 0o644))
		require.NoError(t, os.RemoveAll(at("d")))
		require.NoError(t, os.RemoveAll(at("e")))
		require.NoError(t, os.Mkdir(at("e"), 0o755))
		require.NoError(t, os.WriteFile(at("e/new"), []byte("new\n"), 0o644))
		require.NoError(t, os.Remove(at("l")))
		require.NoError(t, os.Symlink("b", at("l")))
		require.NoError(t, os.Remove(at("gone")))
		require.NoError(t, os.Remove(at("empty")))
		require.NoError(t, os.Chmod(at("x"), 0o700))
		require.NoError(t, os.Remove(at("b")))
		require.NoError(t, os.Mkdir(at("b"), 0o755))
		require.NoError(t, os.MkdirAll(at("n/n"), 0o755))
		require.NoError(t, os.WriteFile(at("n/n/file"), []byte("new\n"), 0o644))
		require.NoError(t, os.Symlink("nowhere", at("dangling")))
	})
	changed := shown(t, p.files, p.dir)
	require.NotEqual(t, before, changed)
	report := p.undo("1")
	require.Empty(t, report.Notes)
	require.Equal(t, before, shown(t, p.files, p.dir))
	require.Equal(t, below, p.tree(), "the project")
	p.undo("2")
	require.Equal(t, changed, shown(t, p.files, p.dir))
	require.Equal(t, below, p.tree(), "the project")
}
