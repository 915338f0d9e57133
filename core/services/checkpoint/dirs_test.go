package checkpoint_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/checkpoint"
	"github.com/fettle-dev/fettle/core/services/discovery"
)

// CM-15: a directory that a call has created and that contains another process's file stays:
// neither plan nor report lists it as removed.
func TestDirectoryThatStays(t *testing.T) {
	p := newProject(t, checkpoint.Options{})
	p.edit("g/deep/f", "new\n")
	p.write("g/mine", "mine\n")
	plan := p.plan(what("1"))
	require.Len(t, plan.Steps, 2, "the file, and the directory that was made for it")
	require.Contains(t, strings.Join(plan.Warnings, " "), "The directory "+p.path("g")+" stays")
	report, err := p.r.Restore(t.Context(), committer(), plan)
	require.NoError(t, err)
	require.Len(t, report.Steps, 2)
	require.NotContains(t, report.Note(), p.path("g")+" (")
	require.Equal(t, map[string]string{".": "folder", "g": "folder", "g/mine": "-rw-r--r-- mine\n"}, p.tree())

	t.Run("since the plan", func(t *testing.T) {
		p := newProject(t, checkpoint.Options{})
		p.edit("g/f", "new\n")
		plan := p.plan(what("1"))
		require.Len(t, plan.Steps, 2)
		p.write("g/mine", "mine\n")
		report, err := p.r.Restore(t.Context(), committer(), plan)
		require.NoError(t, err)
		require.Len(t, report.Steps, 1)
		require.Contains(t, strings.Join(report.Notes, " "), "stays")
		require.NotContains(t, report.Note(), p.path("g")+" (")
	})
	t.Run("that was a file", func(t *testing.T) {
		p := newProject(t, checkpoint.Options{})
		p.write("g", "file\n")
		p.shell(func() {
			require.NoError(t, os.Remove(p.path("g")))
			p.write("g/f", "new\n")
		})
		p.write("g/mine", "mine\n")
		p.refused("1", fault.LaterWork, "contains other files")
	})
}

// CM-15: directories get their earlier permissions back, whatever these are.
func TestModesOfDirectories(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("directories have no such permissions")
	}
	p := newProject(t, checkpoint.Options{})
	p.write("private/f", "x\n")
	p.write("fixed/f", "x\n")
	p.write("changed/f", "x\n")
	require.NoError(t, os.Chmod(p.path("private"), 0o700))
	require.NoError(t, os.Chmod(p.path("fixed"), 0o555))
	require.NoError(t, os.Chmod(p.path("changed"), 0o755))
	p.shell(func() {
		require.NoError(t, os.Chmod(p.path("fixed"), 0o755))
		require.NoError(t, os.RemoveAll(p.path("private")))
		require.NoError(t, os.RemoveAll(p.path("fixed")))
		require.NoError(t, os.Chmod(p.path("changed"), 0o711))
	})
	mode := func(name string) fs.FileMode {
		info, err := os.Lstat(p.path(name))
		require.NoError(t, err)
		return info.Mode().Perm()
	}
	t.Cleanup(func() { _ = os.Chmod(p.path("fixed"), 0o755) }) // so that it can be removed
	p.undo("1")
	require.Equal(t, fs.FileMode(0o700), mode("private"))
	require.Equal(t, fs.FileMode(0o555), mode("fixed"))
	require.Equal(t, fs.FileMode(0o755), mode("changed"))
	require.Equal(t, "x\n", p.read("fixed/f"))
	require.Empty(t, p.plan(what("1")).Steps)
	p.undo("2")
	require.Equal(t, fs.FileMode(0o711), mode("changed"))
}

// CM-15: a process running during a command may have made its changes, and the plan warns about it.
func TestBackground(t *testing.T) {
	p := newProject(t, checkpoint.Options{})
	p.write("f", "old\n")
	finder, running := discovery.New(p.files), false
	p.r = p.store.Record(checkpoint.RecorderOptions{
		Session: "background", Files: p.files, Finder: func() *discovery.Finder { return finder }, Background: func() bool { return running },
	})
	defer func() { require.NoError(t, p.r.Close()) }()
	p.shell(func() { p.write("f", "new\n"); running = true })
	p.shell(func() { p.write("f", "newer\n") })
	require.Empty(t, p.plan(what("1.1")).Warnings, "it was its own doing")
	require.Contains(t, strings.Join(p.plan(what("1.2")).Warnings, " "), "was running during 1.2 run_shell_command")
}

// CM-15: each refusal has a remedy.
func TestRemedies(t *testing.T) {
	p := newProject(t, checkpoint.Options{})
	p.edit("f", "one\n")
	p.edit("f", "two\n")
	require.Contains(t, fault.As(p.plan(what("1.1")).Err()).Remedy, "1.2 write_file first.")
	p.write("f", "mine\n")
	remedy := fault.As(p.plan(what("1.2")).Err()).Remedy
	require.Contains(t, remedy, "Save that edit elsewhere")
	require.NotContains(t, remedy, "--partial", "there is no rest")
	p.edit("g", "one\n")
	require.Contains(t, fault.As(p.plan(what("1")).Err()).Remedy, "--partial")

	t.Run("at the same time", func(t *testing.T) {
		p := newProject(t, checkpoint.Options{})
		two := p.session("two")
		a, err := p.r.Begin(t.Context(), checkpoint.Call{Tool: "run_shell_command"})
		require.NoError(t, err)
		b, err := two.Begin(t.Context(), checkpoint.Call{Tool: "run_shell_command"})
		require.NoError(t, err)
		p.write("f", "new\n")
		a.End(t.Context())
		b.End(t.Context())
		w := what("1")
		w.Session = "one"
		refused := fault.As(p.plan(w).Err())
		require.NotNil(t, refused)
		require.Contains(t, refused.Remedy, "manually")
	})
}

// If many files must be read first, progress is reported before.
func TestProgress(t *testing.T) {
	p := newProject(t, checkpoint.Options{})
	for i := range 1000 {
		p.write(fmt.Sprintf("f%d", i), "")
	}
	var told []int
	call := checkpoint.Call{Tool: "run_shell_command", Progress: func(n int) { told = append(told, n) }}
	p.call(call, func() {})
	require.Equal(t, []int{1000}, told)
	p.call(call, func() {})
	require.Len(t, told, 1, "nothing has to be read again")
}

// Delete removes the records of a session, unless another process uses it.
func TestDelete(t *testing.T) {
	p := newProject(t, checkpoint.Options{})
	p.r.BeginTurn("a secret prompt")
	p.edit("f", "new\n")
	require.Error(t, p.store.Delete(t.Context(), "one"), "it is in use")
	require.NoError(t, p.r.Close())
	require.NoError(t, p.store.Delete(t.Context(), "one"))
	require.NoError(t, p.store.Delete(t.Context(), "one"), "it is gone")
	require.NoError(t, filepath.WalkDir(p.store.Dir(), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NotContains(t, string(data), "a secret prompt", path)
		}
		return err
	}))
}
