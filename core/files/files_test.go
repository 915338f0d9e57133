package files_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/files"
)

// project is an opened directory with files.
type project struct {
	*files.Dir
	t    testing.TB
	path string
}

func open(t testing.TB, o files.Options, tree map[string]string) project {
	t.Helper()
	p := project{t: t, path: t.TempDir()}
	for name, data := range tree {
		p.save(name, data)
	}
	var err error
	p.Dir, err = files.Open(p.path, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// complete are options with all directories.
func complete(t testing.TB) files.Options {
	return files.Options{Recovery: filepath.Join(t.TempDir(), "recovery"), Versions: filepath.Join(t.TempDir(), "versions")}
}

// save writes a file as another program.
func (p project) save(name, data string) {
	p.t.Helper()
	path := filepath.Join(p.path, name)
	require.NoError(p.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(p.t, os.WriteFile(path, []byte(data), 0o644))
}

func (p project) read(name string) files.File {
	p.t.Helper()
	f, err := p.Read(p.t.Context(), name)
	require.NoError(p.t, err)
	return f
}

// tree returns the content of all files.
func (p project) tree() map[string]string {
	p.t.Helper()
	tree := map[string]string{}
	require.NoError(p.t, filepath.WalkDir(p.path, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(p.path, path)
		tree[filepath.ToSlash(name)] = string(data)
		return err
	}))
	return tree
}

func requireFault(t testing.TB, err error, code fault.Code, reason fault.Reason) *fault.Error {
	t.Helper()
	e := fault.As(err)
	require.NotNil(t, e, "%v", err)
	require.Equal(t, [2]string{string(code), string(reason)}, [2]string{string(e.Code), string(e.Reason)}, "%v", err)
	require.NotEmpty(t, e.Message)
	require.True(t, strings.HasPrefix(e.Op, "files."), e.Op)
	for _, word := range []string{"read_file", "base_content", "list_directory", "latest_file_state", "shell command"} {
		require.NotContains(t, e.Text(), word, "the error is for a program, not for a model")
	}
	return e
}

// FD-01: a read returns the hash, every change returns the next one, and is durable at its path.
func TestChanges(t *testing.T) {
	p := open(t, complete(t), map[string]string{"hello.txt": "hello\n"})
	ctx := t.Context()
	hello := p.read("hello.txt")
	require.Equal(t, files.File{
		Name: "hello.txt", SHA256: "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03", Data: []byte("hello\n"),
	}, hello)
	require.Equal(t, hello, p.read(filepath.Join(p.path, "hello.txt")), "an absolute name")
	first := hello.SHA256

	hello, err := p.Patch(ctx, hello, "@@ -1 +1 @@\n-hello\n+hello, world\n")
	require.NoError(t, err)
	require.Equal(t, p.read("hello.txt"), hello)
	hello, err = p.Edit(ctx, hello, "world", "files")
	require.NoError(t, err)
	require.Equal(t, "hello, files\n", string(hello.Data))
	hello, err = p.Write(ctx, hello, []byte("\x00\xff"))
	require.NoError(t, err)
	require.Equal(t, p.read("hello.txt"), hello)
	hello, err = p.Restore(ctx, hello, first)
	require.NoError(t, err)
	require.Equal(t, "hello\n", p.tree()["hello.txt"])

	deep, err := p.Write(ctx, files.File{Name: "new/deep/file"}, []byte("new"))
	require.NoError(t, err)
	require.Equal(t, p.read("new/deep/file"), deep)
	created, err := p.Patch(ctx, files.File{Name: "patched"}, "@@ -0,0 +1 @@\n+made\n")
	require.NoError(t, err)
	require.Equal(t, "made\n", string(created.Data))

	after, err := p.Apply(ctx, files.Move(hello, "new/hello.txt"), files.Delete(created), files.Edit(deep, "new", "old"), files.Write(files.File{Name: "four"}, nil))
	require.NoError(t, err)
	require.Equal(t, []string{"new/hello.txt", "patched", "new/deep/file", "four"}, []string{after[0].Name, after[1].Name, after[2].Name, after[3].Name})
	require.Equal(t, map[string]string{"new/hello.txt": "hello\n", "new/deep/file": "old", "four": ""}, p.tree())
	require.Equal(t, p.read("new/hello.txt").SHA256, after[0].SHA256)
	require.Empty(t, after[1].SHA256)

	back, err := p.Apply(ctx, files.Restore(after[1], created.SHA256), files.Restore(after[2], deep.SHA256))
	require.NoError(t, err, "a set of files, one of them deleted")
	require.Equal(t, []string{"made\n", "new"}, []string{string(back[0].Data), string(back[1].Data)})
	require.Equal(t, map[string]string{"patched": "made\n", "new/hello.txt": "hello\n", "new/deep/file": "new", "four": ""}, p.tree())
}

// FD-01: a change with a stale base is refused, whether its program has the bytes or only the hash.
func TestStale(t *testing.T) {
	p := open(t, complete(t), map[string]string{"a": "one\n", "b": "other\n"})
	ctx := t.Context()
	base, other := p.read("a"), p.read("b")
	p.save("a", "two\n")
	for name, c := range map[string]files.Change{
		"write":      files.Write(base, []byte("mine\n")),
		"hash only":  files.Write(files.File{Name: "a", SHA256: base.SHA256}, []byte("mine\n")),
		"patch":      files.Patch(base, "@@ @@\n-one\n+mine\n"),
		"edit":       files.Edit(base, "one", "mine"),
		"delete":     files.Delete(base),
		"move":       files.Move(base, "c"),
		"restore":    files.Restore(base, base.SHA256),
		"edit a now": files.Edit(base, "two", "mine"),
	} {
		_, err := p.Apply(ctx, c)
		e := requireFault(t, err, fault.FileChangedSinceRead, fault.Changed)
		require.Contains(t, e.Remedy, "Read the file again", name)
		_, err = p.Apply(ctx, files.Edit(other, "other", "mine"), c)
		requireFault(t, err, fault.FileChangedSinceRead, fault.Changed)
	}
	require.Equal(t, map[string]string{"a": "two\n", "b": "other\n"}, p.tree(), "no file of a set was changed")

	_, err := p.Write(ctx, files.File{Name: "a"}, nil)
	requireFault(t, err, fault.AttemptToCreateExist, "")
	require.NoError(t, os.Remove(filepath.Join(p.path, "a")))
	_, err = p.Write(ctx, base, nil)
	requireFault(t, err, fault.FileChangedSinceRead, fault.Disappeared)
	_, err = p.Edit(ctx, files.File{Name: "a"}, "x", "y")
	requireFault(t, err, fault.FileNotFound, "")
	_, err = p.Apply(ctx, files.Delete(files.File{Name: "a"}))
	requireFault(t, err, fault.FileNotFound, "")
}

// FD-01: with Rebase a change that does not overlap is carried over; any other is refused.
func TestRebase(t *testing.T) {
	o := complete(t)
	o.Rebase = true
	const old = "one\r\n2\r\n3\r\n4\r\n5\r\nsix\r\n"
	p := open(t, o, map[string]string{"a": old})
	ctx := t.Context()
	base := p.read("a")
	saved := strings.Replace(old, "six", "SIX", 1)
	want := strings.Replace(saved, "one", "ONE", 1)
	for name, c := range map[string]files.Change{
		"patch": files.Patch(base, "@@ -1,3 +1,3 @@\n-one\n+ONE\n 2\n 3\n"),
		"edit":  files.Edit(base, "one", "ONE"),
		"write": files.Write(base, []byte(strings.Replace(old, "one", "ONE", 1))),
	} {
		p.save("a", saved)
		after, err := p.Apply(ctx, c)
		require.NoError(t, err, name)
		require.Equal(t, want, p.tree()["a"], name)
		require.Equal(t, want, string(after[0].Data), name)
		require.True(t, after[0].Carried)
	}
	current := p.read("a")
	p.save("a", strings.Replace(want, "2", "zwei", 1))
	_, err := p.Edit(ctx, current, "ONE", "uno")
	e := requireFault(t, err, fault.FileChangedSinceRead, fault.Changed)
	require.Contains(t, e.Message, "another writer replaced line 2")

	hashOnly := files.File{Name: "a", SHA256: base.SHA256}
	_, err = p.Write(ctx, hashOnly, []byte("x"))
	requireFault(t, err, fault.FileChangedSinceRead, fault.Changed)
	p.save("a", old)
	_, err = p.Edit(ctx, p.read("a"), "six", "Six") // keeps old
	require.NoError(t, err)
	after, err := p.Edit(ctx, hashOnly, "one", "One")
	require.NoError(t, err, "the bytes of the base are among the versions")
	require.Equal(t, "One\r\n2\r\n3\r\n4\r\n5\r\nSix\r\n", string(after.Data))

	p.save("b", old)
	x, y := p.read("a"), p.read("b")
	p.save("b", saved)
	both, err := p.Apply(ctx, files.Edit(x, "3", "three"), files.Edit(y, "one", "ONE"))
	require.NoError(t, err, "one file of the set has changed")
	require.Equal(t, []bool{false, true}, []bool{both[0].Carried, both[1].Carried})
	require.Equal(t, want, p.tree()["b"])

	lying := files.File{Name: "a", SHA256: sumOf("no version"), Data: []byte(old)}
	_, err = p.Edit(ctx, lying, "one", "uno")
	requireFault(t, err, fault.FileChangedSinceRead, fault.Changed)
}

// FD-01: without the directories of Options, the changes that need them are refused.
func TestWithoutDirectories(t *testing.T) {
	p := open(t, files.Options{}, map[string]string{"a": "a", "b": "b"})
	a, b := p.read("a"), p.read("b")
	for name, changes := range map[string][]files.Change{
		"set": {files.Edit(a, "a", "c"), files.Edit(b, "b", "c")}, "delete": {files.Delete(a)}, "move": {files.Move(a, "c")},
	} {
		_, err := p.Apply(t.Context(), changes...)
		require.Contains(t, requireFault(t, err, fault.FileWriteFailure, "").Remedy, "Options.Recovery", name)
	}
	_, err := p.Restore(t.Context(), a, b.SHA256)
	require.Contains(t, requireFault(t, err, fault.RestoreRefused, fault.NotKept).Remedy, "Options.Versions")
	left, err := p.Recover(t.Context())
	require.NoError(t, err)
	require.Empty(t, left)
	require.Equal(t, map[string]string{"a": "a", "b": "b"}, p.tree())
}

// FD-01: concurrent changes of one file: each acknowledged one has its effect.
func TestConcurrent(t *testing.T) {
	p := open(t, files.Options{}, map[string]string{"n": ""})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for done := 0; done < 5; {
				f, err := p.Read(t.Context(), "n")
				if err == nil {
					_, err = p.Write(t.Context(), f, append(f.Data[:len(f.Data):len(f.Data)], '+'))
				}
				switch {
				case err == nil:
					done++
				case !errors.Is(err, &fault.Error{Code: fault.FileChangedSinceRead}):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, strings.Repeat("+", 40), p.tree()["n"])
	require.Len(t, p.tree(), 1, "no other file is left")
}

// FD-01: an ended context stops a call, and a closed directory refuses it.
func TestEnded(t *testing.T) {
	p := open(t, complete(t), map[string]string{"a": "a"})
	a := p.read("a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range map[string]error{
		"read":    second(p.Read(ctx, "a")),
		"write":   second(p.Write(ctx, a, nil)),
		"set":     second(p.Apply(ctx, files.Write(a, nil), files.Write(files.File{Name: "b"}, nil))),
		"restore": second(p.Restore(ctx, a, a.SHA256)),
	} {
		require.Equal(t, fault.Cancelled, fault.CodeOf(err), name)
		require.ErrorIs(t, err, context.Canceled)
	}
	require.NoError(t, p.Close())
	_, err := p.Read(t.Context(), "a")
	requireFault(t, err, fault.NotInitialized, "")
	_, err = p.Write(t.Context(), a, nil)
	requireFault(t, err, fault.NotInitialized, "")
	require.Equal(t, "a", p.tree()["a"])
	_, err = files.Open(filepath.Join(p.path, "missing"), files.Options{})
	requireFault(t, err, fault.InvalidConfig, "")
}

func second[T any](_ T, err error) error { return err }

// FD-01: the table of errors in docs/files.md has each code and reason with a remedy of this package.
func TestTableOfErrors(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "files.md"))
	require.NoError(t, err)
	var codes, reasons []string // of rows
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, "|"); len(cells) == 6 {
			codes, reasons = append(codes, cells[1]), append(reasons, cells[2])
		}
	}
	all := files.RemedyCodes()
	require.Greater(t, len(all), 10)
	for _, e := range all {
		require.Contains(t, strings.Join(codes, ""), "`"+e[0]+"`")
		if e[1] != string(fault.SpecialFile) {
			require.True(t, e[1] == "" || strings.Contains(strings.Join(reasons, ""), "`"+e[1]+"`"), e)
		}
	}
}
