package transaction_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/transaction"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

func hash(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// project is a directory with files, a recovery directory, and a service.
type project struct {
	dir, recovery string
	files         *workspace.Workspace
	*transaction.Service
}

func open(dir, recovery string, hook func(string) error) (*project, error) {
	files, err := workspace.Open(dir)
	if err != nil {
		return nil, err
	}
	if hook == nil {
		hook = func(string) error { return nil }
	}
	c := commit.New(commit.Options{RecoveryDir: recovery, Settle: -1, Hook: func(s commit.Step) error { return hook(string(s)) }})
	return &project{dir, recovery, files, transaction.New(transaction.Options{
		Files: files, Committer: c, RecoveryDir: recovery,
		Hook: func(s transaction.Step) error { return hook("set " + string(s)) },
	})}, nil
}

// five are the files of a set, with the old and new contents of each version.
var five = map[string]string{"a.txt": "a 0\n", "d/b.txt": "b 0\n", "d/e/c.txt": "c 0\n", "gone.txt": "gone\n", "from.txt": "moved\n"}

func newProject(t testing.TB, hook func(string) error) *project {
	t.Helper()
	p, err := open(t.TempDir(), filepath.Join(t.TempDir(), "recovery"), hook)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.files.Close()) })
	for name, text := range five {
		p.write(t, name, text)
	}
	return p
}

func (p *project) write(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join(p.dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func (p *project) path(name string) workspace.Path {
	path, err := p.files.Resolve(name)
	if err != nil {
		panic(err)
	}
	return path
}

func (p *project) update(name, from, to string) transaction.Operation {
	return transaction.Operation{Kind: transaction.Update, Path: p.path(name), Base: hash(from), Data: []byte(to)}
}

func (p *project) create(name, text string) transaction.Operation {
	return transaction.Operation{Kind: transaction.Create, Path: p.path(name), Data: []byte(text)}
}

func (p *project) remove(name, text string) transaction.Operation {
	return transaction.Operation{Kind: transaction.Delete, Path: p.path(name), Base: hash(text)}
}

func (p *project) move(name, text, to string) transaction.Operation {
	return transaction.Operation{Kind: transaction.Move, Path: p.path(name), Base: hash(text), To: p.path(to)}
}

// set changes all of five: five operations on six paths.
func (p *project) set() []transaction.Operation {
	return []transaction.Operation{
		p.update("a.txt", "a 0\n", "a 1\n"),
		p.update("d/b.txt", "b 0\n", strings.Repeat("b 1\n", 1000)),
		p.create("new/deep/n.txt", "new\n"),
		p.remove("gone.txt", "gone\n"),
		p.move("from.txt", "moved\n", "d/e/to.txt"),
	}
}

// after is the tree after set.
var after = map[string]string{
	"a.txt": "a 1\n", "d/": "", "d/b.txt": strings.Repeat("b 1\n", 1000), "d/e/": "", "d/e/c.txt": "c 0\n", "d/e/to.txt": "moved\n",
	"new/": "", "new/deep/": "", "new/deep/n.txt": "new\n",
}

// before is the tree before set.
var before = map[string]string{
	"a.txt": "a 0\n", "d/": "", "d/b.txt": "b 0\n", "d/e/": "", "d/e/c.txt": "c 0\n", "gone.txt": "gone\n", "from.txt": "moved\n",
}

// tree returns all files and directories.
func (p *project) tree(t testing.TB) map[string]string {
	t.Helper()
	found := make(map[string]string)
	require.NoError(t, filepath.WalkDir(p.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == p.dir {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, p.dir+string(filepath.Separator)))
		if entry.IsDir() {
			found[name+"/"] = ""
			return nil
		}
		if entry.Type()&fs.ModeSymlink != 0 {
			found[name], err = os.Readlink(path)
			return err
		}
		data, err := os.ReadFile(path)
		found[name] = string(data)
		return err
	}))
	return found
}

// requireClean requires a recovery directory without journals.
func (p *project) requireClean(t testing.TB) {
	t.Helper()
	entries, err := os.ReadDir(p.recovery)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	require.NoError(t, err)
	for _, e := range entries {
		require.Equal(t, "sets.lock", e.Name())
	}
}

func requireCode(t testing.TB, err error, code fault.Code, reason fault.Reason) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, fault.CodeOf(err), "%v", err)
	require.Equal(t, reason, fault.As(err).Reason)
}

func TestSet(t *testing.T) { // TX-01, TX-02
	p := newProject(t, nil)
	require.NoError(t, os.Chmod(filepath.Join(p.dir, "from.txt"), 0o751))
	require.Equal(t, before, p.tree(t))
	r, err := p.Commit(t.Context(), p.set())
	require.NoError(t, err)
	require.Equal(t, after, p.tree(t))
	require.Equal(t, -1, r.Failed)
	require.Empty(t, r.KeptFiles)
	require.Len(t, r.Files, 5)
	require.Equal(t, hash("a 1\n"), r.Files[0].SHA256)
	require.Equal(t, hash("new\n"), r.Files[2].SHA256)
	require.Empty(t, r.Files[3].SHA256)
	require.Equal(t, hash("moved\n"), r.Files[4].SHA256)
	require.Equal(t, fs.FileMode(0o751), r.Files[4].Info.Mode.Perm(), "a moved file keeps its mode")
	p.requireClean(t)

	r, err = p.Commit(t.Context(), []transaction.Operation{{
		Kind: transaction.Move, Path: p.path("a.txt"), Base: hash("a 1\n"), To: p.path("A.txt2"), Data: []byte("a 2\n"),
	}})
	require.NoError(t, err)
	require.Equal(t, hash("a 2\n"), r.Files[0].SHA256)
	require.Equal(t, "a 2\n", p.tree(t)["A.txt2"])
}

// A refused set changes nothing, and creates no file or directory for longer than the call.
func TestRefusedSets(t *testing.T) { // TX-01
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "x"), []byte("x"), 0o600))
	for name, tt := range map[string]struct {
		prepare func(*testing.T, *project)
		extra   func(*project) []transaction.Operation
		code    fault.Code
		reason  fault.Reason
		failed  int
	}{
		"one path twice":   {nil, func(p *project) []transaction.Operation { return []transaction.Operation{p.remove("a.txt", "a 0\n")} }, fault.InvalidToolParams, "", 5},
		"a new path twice": {nil, func(p *project) []transaction.Operation { return []transaction.Operation{p.create("d/e/to.txt", "")} }, fault.InvalidToolParams, "", 5},
		"a missing path twice": {nil, func(p *project) []transaction.Operation {
			return []transaction.Operation{p.create("new/deep/n.txt", "")}
		}, fault.InvalidToolParams, "", 5},
		"one file by a link": {func(t *testing.T, p *project) { require.NoError(t, os.Symlink("d", filepath.Join(p.dir, "link"))) },
			func(p *project) []transaction.Operation {
				return []transaction.Operation{p.update("link/b.txt", "b 0\n", "")}
			}, fault.InvalidToolParams, "", 5},
		"outside": {func(t *testing.T, p *project) { require.NoError(t, os.Symlink(outside, filepath.Join(p.dir, "link"))) },
			func(p *project) []transaction.Operation {
				return []transaction.Operation{p.update("link/x", "x", "")}
			}, fault.PathNotInWorkspace, "", 5},
		"a directory outside": {func(t *testing.T, p *project) { require.NoError(t, os.Symlink(outside, filepath.Join(p.dir, "link"))) },
			func(p *project) []transaction.Operation {
				return []transaction.Operation{p.create("link/new/x", "")}
			}, fault.PathNotInWorkspace, "", 5},
		"a link removed": {func(t *testing.T, p *project) {
			require.NoError(t, os.Symlink("d/e/c.txt", filepath.Join(p.dir, "link")))
		},
			func(p *project) []transaction.Operation { return []transaction.Operation{p.remove("link", "c 0\n")} }, fault.NotARegularFile, "", 5},
		"stale":      {func(t *testing.T, p *project) { p.write(t, "d/b.txt", "other\n") }, nil, fault.FileChangedSinceRead, fault.Changed, 1},
		"stale move": {func(t *testing.T, p *project) { p.write(t, "from.txt", "other\n") }, nil, fault.FileChangedSinceRead, fault.Changed, 4},
		"gone":       {func(t *testing.T, p *project) { require.NoError(t, os.Remove(filepath.Join(p.dir, "gone.txt"))) }, nil, fault.FileChangedSinceRead, fault.Disappeared, 3},
		"exists":     {func(t *testing.T, p *project) { p.write(t, "new/deep/n.txt", "other\n") }, nil, fault.EditRequiresPriorRead, fault.NeverRead, 2},
		"moved onto": {func(t *testing.T, p *project) { p.write(t, "d/e/to.txt", "other\n") }, nil, fault.EditRequiresPriorRead, fault.NeverRead, 4},
		"a directory": {func(t *testing.T, p *project) {
			require.NoError(t, os.MkdirAll(filepath.Join(p.dir, "d/e/to.txt"), 0o755))
		}, nil, fault.NotARegularFile, "", 4},
		"below a file": {nil, func(p *project) []transaction.Operation { return []transaction.Operation{p.create("d/e/c.txt/x", "")} }, fault.PathIsNotADirectory, "", 5},
		"two names": {func(t *testing.T, p *project) {
			require.NoError(t, os.Link(filepath.Join(p.dir, "a.txt"), filepath.Join(p.dir, "a2.txt")))
		},
			nil, fault.FileWriteFailure, "", 0},
		"no base": {nil, func(p *project) []transaction.Operation {
			return []transaction.Operation{{Kind: transaction.Update, Path: p.path("d/e/c.txt")}}
		}, fault.InvalidToolParams, "", 5},
		"no path": {nil, func(p *project) []transaction.Operation {
			return []transaction.Operation{{Kind: transaction.Create}}
		}, fault.InvalidToolParams, "", 5},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, nil)
			if tt.prepare != nil {
				tt.prepare(t, p)
			}
			set := p.set()
			if tt.extra != nil {
				set = append(set, tt.extra(p)...)
			}
			tree := p.tree(t)
			r, err := p.Commit(t.Context(), set)
			requireCode(t, err, tt.code, tt.reason)
			require.Equal(t, tt.failed, r.Failed)
			require.Nil(t, r.Files)
			require.Equal(t, tree, p.tree(t))
			p.requireClean(t)
		})
	}
	p := newProject(t, nil)
	_, err := p.Commit(t.Context(), nil)
	requireCode(t, err, fault.InvalidToolParams, "")
	_, err = p.Commit(t.Context(), slices.Repeat(p.set(), 21))
	requireCode(t, err, fault.InvalidToolParams, "")
	without := transaction.New(transaction.Options{Files: p.files, Committer: commit.New(commit.Options{})})
	_, err = without.Commit(t.Context(), p.set())
	requireCode(t, err, fault.FileWriteFailure, "")
	require.Equal(t, before, p.tree(t))
}
