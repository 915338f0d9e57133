package transaction_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/transaction"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// forked is a project with a fork, and the services on it.
type forked struct {
	dir, upper, work, recovery string
	files                      *workspace.Workspace
	commit                     *commit.Committer
	sets                       *transaction.Service

	mu      sync.Mutex
	touched map[string]string // path to the previous file
}

func newForked(t testing.TB, build func(dir string)) *forked {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	f := &forked{
		dir: filepath.Join(top, "project"), upper: filepath.Join(top, "state", "upper"), work: filepath.Join(top, "state", "work"),
		recovery: filepath.Join(top, "recovery"), touched: make(map[string]string),
	}
	for _, dir := range []string{f.dir, f.upper, f.work} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	build(f.dir)
	require.NoError(t, f.open(nil))
	t.Cleanup(func() { _ = f.files.Close() })
	return f
}

func (f *forked) open(hook func(string) error) (err error) {
	if hook == nil {
		hook = func(string) error { return nil }
	}
	if f.upper == "" {
		f.files, err = workspace.Open(f.dir)
	} else {
		overlay := workspace.Overlay{Dir: f.dir, Upper: f.upper, Touch: f.touch}
		f.files, err = workspace.OpenOverlays([]workspace.Overlay{overlay}, f.dir)
	}
	if err != nil {
		return err
	}
	f.commit = commit.New(commit.Options{RecoveryDir: f.recovery, Settle: -1, LeaseWait: -1, Hook: func(s commit.Step) error { return hook(string(s)) }})
	f.sets = transaction.New(transaction.Options{Files: f.files, Committer: f.commit, RecoveryDir: f.recovery,
		Hook: func(s transaction.Step) error { return hook("set " + string(s)) }})
	return nil
}

// touch records the touched files, as a fork does.
func (f *forked) touch(t workspace.Touched) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.touched[t.Path]; ok {
		return nil
	}
	what := "absent"
	switch {
	case t.Absent:
	case t.Mode.IsRegular():
		file, err := t.Open()
		if err != nil {
			return err
		}
		defer file.Close()
		data, err := io.ReadAll(file)
		if err != nil {
			return err
		}
		what = "file " + string(data)
	case t.Mode.IsDir():
		what = "dir"
	case t.Mode&fs.ModeSymlink != 0:
		what = "link " + t.Target
	default:
		return fmt.Errorf("touched a %s", t.Mode)
	}
	if t.Check != nil {
		if err := t.Check(); err != nil {
			return err
		}
	}
	f.touched[t.Path] = what
	return nil
}

// tree describes the files of a directory by their paths.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	require.NoError(t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		info, err := os.Lstat(name)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		switch {
		case info.IsDir():
			all[rel] = "dir " + info.Mode().String()
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			all[rel] = "link " + target
			return err
		case info.Mode().IsRegular():
			data, err := os.ReadFile(name)
			all[rel] = "file " + info.Mode().String() + " " + string(data)
			return err
		default:
			all[rel] = info.Mode().String()
		}
		return nil
	}))
	return all
}

// shown describes the files of the view.
func (f *forked) shown(t testing.TB) map[string]string {
	t.Helper()
	all := make(map[string]string)
	var walk func(rel string)
	walk = func(rel string) {
		p := f.path(rel)
		dir, err := f.files.OpenDir(p)
		require.NoError(t, err)
		defer dir.Close()
		types := make(map[string]fs.FileMode)
		require.NoError(t, dir.Names(nil, func(n workspace.Name) bool {
			require.NotContains(t, types, n.Name, "listed twice")
			types[n.Name] = n.Type
			return true
		}))
		entries, err := f.files.ReadDir(t.Context(), p)
		require.NoError(t, err)
		var listed []string
		for _, e := range entries {
			listed = append(listed, e.Name)
		}
		require.Equal(t, slices.Sorted(maps.Keys(types)), append([]string(nil), listed...))
		for name, kind := range types {
			rel := filepath.Join(rel, name)
			info, err := dir.Lstat(name)
			require.NoError(t, err, rel)
			require.Equal(t, kind, info.Mode.Type(), rel)
			switch {
			case info.Mode.IsDir():
				all[rel] = "dir " + info.Mode.String()
				walk(rel)
			case info.Mode&fs.ModeSymlink != 0:
				target, err := dir.Readlink(name)
				require.NoError(t, err)
				all[rel] = "link " + target
			default:
				file, err := f.files.OpenRead(f.path(rel))
				require.NoError(t, err, rel)
				data, err := io.ReadAll(file)
				require.NoError(t, err)
				require.NoError(t, file.Close())
				again, err := dir.Open(name)
				require.NoError(t, err)
				same, err := io.ReadAll(again)
				require.NoError(t, err)
				require.NoError(t, again.Close())
				require.Equal(t, string(data), string(same))
				stat, err := f.files.Stat(f.path(rel))
				require.NoError(t, err)
				require.Equal(t, info, stat)
				require.EqualValues(t, len(data), stat.Size)
				all[rel] = "file " + info.Mode.String() + " " + string(data)
			}
		}
	}
	walk(".")
	return all
}

func (f *forked) path(rel string) workspace.Path {
	p, err := f.files.Resolve(filepath.Join(f.dir, rel))
	if err != nil {
		panic(err) // a name in a test
	}
	return p
}

func sum(data string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(data))) }

// put creates a file with the base "", or replaces one, as the tools do.
func (f *forked) put(ctx context.Context, rel, base, data string) (err error) {
	p := f.path(rel)
	if base == "" {
		var undo func()
		if undo, err = f.files.MakeParents(p); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				undo()
			}
		}()
	}
	return f.at(rel, func(r commit.Request) error {
		r.Data, r.Base = []byte(data), base
		_, err := f.commit.Commit(ctx, r)
		return err
	})
}

func (f *forked) remove(ctx context.Context, rel, base string) error {
	return f.at(rel, func(r commit.Request) error {
		r.Base = base
		_, err := f.commit.Remove(ctx, r)
		return err
	})
}

func (f *forked) at(rel string, do func(commit.Request) error) error {
	at, err := f.files.Locate(f.path(rel))
	if err != nil {
		return err
	}
	defer at.Close()
	return do(commit.Request{Dir: at.Dir, Name: at.Name, Layer: at.Layer, Path: f.path(rel).String()})
}

// newPlain is a project without a fork, with the same services.
func newPlain(t testing.TB, build func(dir string)) *forked {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	f := &forked{dir: filepath.Join(top, "project"), recovery: filepath.Join(top, "recovery")}
	require.NoError(t, os.Mkdir(f.dir, 0o755))
	build(f.dir)
	require.NoError(t, f.open(nil))
	t.Cleanup(func() { _ = f.files.Close() })
	return f
}

// regular returns the content of a regular file of a plain project that no link at the end leads to.
func (f *forked) regular(rel string) (string, bool) {
	info, err := os.Lstat(filepath.Join(f.dir, rel))
	if err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	data, err := os.ReadFile(filepath.Join(f.dir, rel))
	return string(data), err == nil
}

// modelNames are names that changes are made to; some exist in a project of buildModel.
var modelNames = []string{"a", "b", "c", "d", "d/a", "d/b", "d/c", "d/e", "d/e/a", "d/e/b", "d/l", "g", "g/a", "h", "h/i", "h/i/j", "h/i/j/k",
	"empty", "empty/x", "l", "n/o/p", "to-d/a"}

func buildModel(dir string) {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	for _, name := range []string{"a", "b", "d/a", "d/b", "d/e/a", "d/e/b", "g/a", "h/i/j/k"} {
		must(os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755))
		must(os.WriteFile(filepath.Join(dir, name), []byte("below "+name+"\n"), 0o644))
	}
	must(os.Chmod(filepath.Join(dir, "d/b"), 0o755))
	must(os.Chmod(filepath.Join(dir, "g"), 0o750))
	must(os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	must(os.Symlink("d/a", filepath.Join(dir, "l")))
	must(os.Symlink("../b", filepath.Join(dir, "d/l")))
	must(os.Symlink("d", filepath.Join(dir, "to-d")))
}

func describeBelow(dir, path string) string {
	name := filepath.Join(dir, path)
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "absent"
	case err != nil:
		return err.Error()
	case info.IsDir():
		return "dir"
	case info.Mode()&fs.ModeSymlink != 0:
		target, _ := os.Readlink(name)
		return "link " + target
	}
	data, _ := os.ReadFile(name)
	return "file " + string(data)
}

// recorded requires a record for each file of the upper directory, and for each that it removes.
func (f *forked) recorded(t testing.TB, log []string) {
	t.Helper()
	for rel, what := range tree(t, f.upper) {
		if strings.HasPrefix(what, "dir") {
			continue
		}
		if _, ok := f.touched[rel]; !ok && describeBelow(f.dir, rel) != "absent" {
			require.Fail(t, "no base", "%s (%s): %v", rel, what, log)
		}
		require.NotContains(t, filepath.Base(rel), ".fettle-", "%v", log)
	}
}

// mount shows the fork by the system's overlayfs; "": that is not possible.
func (f *forked) mount(t testing.TB) string {
	t.Helper()
	shown := t.TempDir()
	options := fmt.Sprintf("userxattr,index=off,xino=off,lowerdir=%s,upperdir=%s,workdir=%s", f.dir, f.upper, f.work)
	if syscall.Mount("overlay", shown, "overlay", 0, options) != nil {
		return ""
	}
	t.Cleanup(func() { _ = syscall.Unmount(shown, 0) }) // unless the test has done it
	return shown
}

// codeOf returns the code of an error, "" for none.
func codeOf(err error) string {
	if e := fault.As(err); e != nil {
		return string(e.Code) + string(e.Reason)
	} else if err != nil {
		return err.Error()
	}
	return ""
}

// change returns a random change, with the state of its files in the plain project.
func change(t testing.TB, r *rand.Rand, plain *forked, pick func() string) (what string, do func(*forked) error) {
	ctx := t.Context()
	rel, to := pick(), pick()
	now, regular := plain.regular(rel)
	data := fmt.Sprintf("%s %d\n", now, r.IntN(1000))
	mode := []fs.FileMode{0o644, 0o755, 0o600, 0o700}[r.IntN(4)]
	if info, err := os.Stat(filepath.Join(plain.dir, rel)); err == nil && info.IsDir() {
		mode |= 0o700
	}
	set := func(o transaction.Operation) func(*forked) error {
		o.Base = sum(now)
		return func(f *forked) error {
			set := o
			set.Path = f.path(rel)
			if o.Kind == transaction.Move {
				set.To = f.path(to)
			}
			_, err := f.sets.Commit(ctx, []transaction.Operation{set})
			return err
		}
	}
	switch kind := r.IntN(12); {
	case kind < 2:
		return "create " + rel, func(f *forked) error { return f.put(ctx, rel, "", data) }
	case kind < 7 && !regular: // again, until it is one that can be made
		return change(t, r, plain, pick)
	case kind < 4:
		return "write " + rel, func(f *forked) error { return f.put(ctx, rel, sum(now), data) }
	case kind == 4:
		return "remove " + rel, func(f *forked) error { return f.remove(ctx, rel, sum(now)) }
	case kind == 5:
		return "delete " + rel, set(transaction.Operation{Kind: transaction.Delete})
	case kind == 6:
		return "move " + rel + " " + to, set(transaction.Operation{Kind: transaction.Move})
	case kind == 7:
		return "chmod " + rel, func(f *forked) error { return f.files.Chmod(f.path(rel), mode) }
	case kind == 8:
		return "link " + rel + " " + to, func(f *forked) error { return f.files.MakeLink(f.path(rel), to, true) }
	case kind == 9:
		return "drop " + rel, func(f *forked) error { return f.files.RemoveEntry(f.path(rel)) }
	case kind == 10:
		return "mkdir " + rel, func(f *forked) error { return f.files.MakeDir(f.path(rel), 0o755) }
	}
	// All that is in a directory, so that the directory can be removed.
	files := make(map[string]string)
	_ = filepath.WalkDir(filepath.Join(plain.dir, rel), func(name string, e fs.DirEntry, _ error) error {
		if at, err := filepath.Rel(plain.dir, name); err == nil && e != nil && !e.IsDir() {
			files[at] = "link"
			if now, ok := plain.regular(at); ok {
				files[at] = sum(now)
			}
		}
		return nil
	})
	return "clear " + rel, func(f *forked) (err error) {
		for name, hash := range files {
			if hash == "link" {
				err = errors.Join(err, f.files.RemoveEntry(f.path(name)))
			} else {
				err = errors.Join(err, f.remove(ctx, name, hash))
			}
		}
		return err
	}
}
