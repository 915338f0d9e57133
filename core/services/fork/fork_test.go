package fork_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/fork"
	"github.com/fettle-dev/fettle/core/services/transaction"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// project is a directory with forks.
type project struct {
	t                    testing.TB
	dir, state, recovery string
	mode                 fork.Mode
	options              fork.Options
	hook                 func(transaction.Step) error
}

func newProject(t testing.TB, files map[string]string) *project {
	t.Helper()
	return newProjectIn(t, t.TempDir(), files)
}

func newProjectIn(t testing.TB, top string, files map[string]string) *project {
	t.Helper()
	p := &project{t: t, dir: filepath.Join(top, "p"), state: filepath.Join(top, "state"), recovery: filepath.Join(top, "recovery"), mode: fork.Overlay}
	require.NoError(t, os.MkdirAll(p.dir, 0o755))
	p.write(files)
	return p
}

func (p *project) store() *fork.Store {
	o := p.options
	o.Dir = p.state
	return fork.New(o)
}

func (p *project) create(name string) *fork.Fork {
	p.t.Helper()
	f, err := p.store().Create(p.t.Context(), fork.Request{Name: name, Dirs: []string{p.dir}, Mode: p.mode, Session: "s"})
	if fault.CodeOf(err) == fault.ForkUnsupported {
		p.t.Skip(err)
	}
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = f.Close() })
	return f
}

func (p *project) write(files map[string]string) { writeAll(p.t, p.dir, files) }

// writeAll writes files; "-> x" is a link, "x!" before the text an executable file, "gone" removes it.
func writeAll(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			_ = os.Remove(path)
			require.NoError(t, os.Symlink(target, path))
			continue
		}
		if text == "gone" {
			require.NoError(t, os.RemoveAll(path))
			continue
		}
		mode := fs.FileMode(0o644)
		text, executable := strings.CutPrefix(text, "x!")
		if executable {
			mode = 0o755
		}
		_ = os.Remove(path)
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
		require.NoError(t, os.Chmod(path, mode))
	}
}

// tree returns the files of a directory as writeAll takes them.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	require.NoError(t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		info, err := e.Info()
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(name)
			all[filepath.ToSlash(rel)] = "-> " + target
			return err
		}
		data, err := os.ReadFile(name)
		if info.Mode()&0o100 != 0 {
			data = append([]byte("x!"), data...)
		}
		all[filepath.ToSlash(rel)] = string(data)
		return err
	}))
	return all
}

// change makes the fork's files those of the map, as file tools do: with a record before each.
func (p *project) change(f *fork.Fork, files map[string]string) {
	p.t.Helper()
	upper := f.Layers()[0].Upper
	for name, text := range files {
		if f.Mode == fork.Overlay {
			p.touch(f, name)
		}
		path := filepath.Join(upper, name)
		below, err := os.Lstat(filepath.Join(p.dir, name))
		if text == "gone" && f.Mode == fork.Overlay {
			_ = os.Remove(path)
			if err == nil {
				require.NoError(p.t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(p.t, whiteout(path), below.Name())
			}
			continue
		}
		writeAll(p.t, upper, map[string]string{name: text})
	}
}

// touch records the base of a file.
func (p *project) touch(f *fork.Fork, name string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	touch := fork.Touch{Path: name, Open: func() (*os.File, error) { return os.Open(path) }}
	info, err := os.Lstat(path)
	if touch.Absent = errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR); !touch.Absent {
		require.NoError(p.t, err)
		touch.Base = info.Mode()
		touch.Target, _ = os.Readlink(path)
	}
	require.NoError(p.t, f.Touch(p.t.Context(), touch))
}

func (p *project) merge(f *fork.Fork, change func(*fork.MergeOptions)) (*fork.Report, error) {
	p.t.Helper()
	files, err := workspace.Open(p.dir)
	require.NoError(p.t, err)
	defer files.Close()
	o := fork.MergeOptions{Files: files, RecoveryDir: p.recovery, Committer: commit.New(commit.Options{RecoveryDir: p.recovery, Settle: -1}), Hook: p.hook}
	if change != nil {
		change(&o)
	}
	return f.Merge(context.Background(), o)
}

func verdicts(r *fork.Report) map[string]string {
	all := make(map[string]string)
	for _, f := range r.Files {
		text := string(f.Verdict)
		if f.Kind != "" {
			text += " " + string(f.Kind)
		}
		if f.Merged {
			text = "merged"
		}
		all[f.Path] = text
	}
	return all
}

const ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"

// FK-05, FK-07: create, list, look, open and drop.
func TestStore(t *testing.T) {
	p := newProject(t, map[string]string{"a": ten})
	s := p.store()
	list, err := s.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)
	f := p.create("one")
	_, err = s.Create(t.Context(), fork.Request{Name: "one", Dirs: []string{p.dir}})
	require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
	_, err = s.Create(t.Context(), fork.Request{Name: "../x", Dirs: []string{p.dir}})
	require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
	_, err = s.Open("one", "")
	require.Equal(t, fault.ExecutionFailed, fault.CodeOf(err), "it is in use")
	p.change(f, map[string]string{"a": "changed\n", "b": "new\n"})
	list, err = s.List(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.True(t, list[0].InUse)
	require.Equal(t, 2, list[0].Files)
	require.Equal(t, int64(len("changed\nnew\n"+ten)), list[0].Size)
	require.Equal(t, os.Getpid(), list[0].Owner.PID)
	look, err := s.Look("one")
	require.NoError(t, err)
	r, err := look.Compare(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "clean", "b": "clean"}, verdicts(r))
	require.NoError(t, look.Close())
	require.Equal(t, fault.ExecutionFailed, fault.CodeOf(s.Drop(t.Context(), "one", true)))
	require.NoError(t, f.Close())
	list, err = s.List(t.Context())
	require.NoError(t, err)
	require.False(t, list[0].InUse)
	require.Equal(t, fault.RestoreRefused, fault.CodeOf(s.Drop(t.Context(), "one", false)))
	work := filepath.Join(f.Layers()[0].Work, "work")
	require.NoError(t, os.Mkdir(work, 0)) // as overlayfs does
	require.NoError(t, s.Drop(t.Context(), f.ID, true))
	_, err = s.Open("one", "")
	require.Equal(t, fault.FileNotFound, fault.CodeOf(err))
	left, err := os.ReadDir(p.state)
	require.NoError(t, err)
	require.Len(t, left, 1) // the lock
	require.Equal(t, map[string]string{"a": ten}, tree(t, p.dir))
}

// FK-02: the first touch decides; records outlast a process, and damaged ones are conflicts.
func TestTouch(t *testing.T) {
	p := newProject(t, map[string]string{"a": ten, "b": "b\n", "c": "c\n"})
	f := p.create("one")
	p.change(f, map[string]string{"a": strings.Replace(ten, "1\n", "one\n", 1), "b": "B\n"})
	p.write(map[string]string{"a": strings.Replace(ten, "10\n", "ten\n", 1)})
	p.touch(f, "a")
	changed := errors.New("changed")
	err := f.Touch(t.Context(), fork.Touch{Path: "c", Open: func() (*os.File, error) { return os.Open(filepath.Join(p.dir, "c")) }, Check: func() error { return changed }})
	require.ErrorIs(t, err, changed)
	require.Error(t, f.Touch(t.Context(), fork.Touch{Path: "../c", Absent: true}))
	require.NoError(t, f.Close())

	records := filepath.Join(p.state, f.ID, "base.jsonl")
	data, err := os.ReadFile(records)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(records, data[:len(data)-3], 0o600)) // the last line is cut off
	f, err = p.store().Open("one", "")
	require.NoError(t, err)
	defer f.Close()
	writeAll(t, f.Layers()[0].Upper, map[string]string{"unrecorded": "x\n"})
	r, err := f.Compare(t.Context(), nil)
	require.NoError(t, err)
	got := verdicts(r)
	require.Contains(t, [][2]string{{"clean", "conflict unknown_base"}, {"conflict unknown_base", "clean"}}, [2]string{got["a"], got["b"]})
	require.Equal(t, "conflict unknown_base", got["unrecorded"])
	require.NoError(t, f.Touch(t.Context(), fork.Touch{Path: "late", Absent: true}))
	require.NoError(t, f.Close())
	f, err = p.store().Open("one", "")
	require.NoError(t, err)
	writeAll(t, f.Layers()[0].Upper, map[string]string{"late": "x\n"})
	r, err = f.Compare(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, "clean", verdicts(r)["late"])
}

// FK-03: a copy is bounded, and the directories are unchanged by it.
func TestCopy(t *testing.T) {
	files := map[string]string{"a": ten, "d/x": "x!run\n", "l": "-> a", ".git/HEAD": "ref\n"}
	p := newProject(t, files)
	p.mode = fork.Copy
	f := p.create("one")
	require.Equal(t, files, tree(t, f.Layers()[0].Upper))
	p.options.MaxCopyFiles = 3
	_, err := p.store().Create(t.Context(), fork.Request{Dirs: []string{p.dir}, Mode: fork.Copy})
	require.Equal(t, fault.LimitReached, fault.CodeOf(err))
	p.options.MaxCopyFiles, p.options.MaxCopyBytes = 0, 10
	_, err = p.store().Create(t.Context(), fork.Request{Dirs: []string{p.dir}, Mode: fork.Copy})
	require.Equal(t, fault.LimitReached, fault.CodeOf(err))
	left, err := os.ReadDir(p.state)
	require.NoError(t, err)
	require.Len(t, left, 2) // the fork and the lock
}
