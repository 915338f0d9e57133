package files_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/files"
)

// memory is a file system and a Committer in memory.
type memory struct {
	mu    sync.Mutex
	tree  fstest.MapFS
	calls int
	late  func() // another program, just before the next commit
}

func (m *memory) Open(name string) (fs.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tree.Open(name)
}

func (m *memory) save(name, data string) { m.tree[name] = &fstest.MapFile{Data: []byte(data)} }

func (m *memory) Commit(_ context.Context, operations []files.Operation) (kept []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	if m.late != nil {
		m.late()
	}
	for _, o := range operations {
		now, sum := m.tree[o.Name], ""
		if now != nil {
			sum = sumOf(string(now.Data))
		}
		if sum != o.Base {
			return nil, fault.New(fault.FileChangedSinceRead, "memory", o.Name+" has changed.", "").Because(fault.Changed)
		}
	}
	for _, o := range operations {
		switch {
		case o.Delete:
			delete(m.tree, o.Name)
		case o.To != "":
			m.tree[o.To] = m.tree[o.Name]
			delete(m.tree, o.Name)
		default:
			m.save(o.Name, string(o.Data))
		}
	}
	return nil, nil
}

// FD-01: reads come from any file system, and changes go to any Committer, with the same checks.
func TestBackend(t *testing.T) {
	m := &memory{tree: fstest.MapFS{}}
	const old = "one\r\n2\r\n3\r\n4\r\n5\r\nsix\r\n"
	m.save("a", old)
	m.save("d/b", "b\n")
	dir, err := files.Open("", files.Options{FS: m, Committer: m, Rebase: true, MaxBytes: 100, Versions: filepath.Join(t.TempDir(), "versions")})
	require.NoError(t, err)
	ctx := t.Context()
	a, err := dir.Read(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, files.File{Name: "a", SHA256: sumOf(old), Data: []byte(old)}, a)
	b, err := dir.Read(ctx, "d/b")
	require.NoError(t, err)
	after, err := dir.Apply(ctx, files.Patch(a, "@@ @@\n-one\n+uno\n"), files.Move(b, "c"), files.Write(files.File{Name: "new"}, []byte("n")))
	require.NoError(t, err)
	require.Equal(t, "uno\r\n2\r\n3\r\n4\r\n5\r\nsix\r\n", string(m.tree["a"].Data))
	require.Contains(t, m.tree, "c")
	require.NotContains(t, m.tree, "d/b")
	require.Equal(t, 1, m.calls, "a set is one call")
	_, err = dir.Apply(ctx, files.Delete(after[2]))
	require.NoError(t, err)
	require.NotContains(t, m.tree, "new")

	m.late = func() { m.save("a", strings.Replace(string(after[0].Data), "six", "SIX", 1)) }
	carried, err := dir.Edit(ctx, after[0], "uno", "one")
	require.NoError(t, err, "the file changed between read and commit")
	require.True(t, carried.Carried)
	require.Equal(t, "one\r\n2\r\n3\r\n4\r\n5\r\nSIX\r\n", string(m.tree["a"].Data))

	n := 0
	m.late = func() { n++; m.save("a", strings.Replace(old, "six", fmt.Sprint("six", n), 1)) }
	m.calls = 0
	_, err = dir.Edit(ctx, carried, "2", "zwei")
	requireFault(t, err, fault.FileChangedSinceRead, fault.Changed)
	require.Equal(t, 6, m.calls, "the call ends although the file changes again and again")
	m.late = nil

	m.save("large", strings.Repeat("x", 101))
	for name, want := range map[string]fault.Code{
		"missing": fault.FileNotFound, "../a": fault.PathNotInWorkspace, "/a": fault.PathNotInWorkspace, "d/../a": fault.PathNotInWorkspace,
		".": fault.TargetIsDirectory, "large": fault.FileTooLarge,
	} {
		_, err := dir.Read(ctx, name)
		requireFault(t, err, want, "")
	}
	restored, err := dir.Restore(ctx, must(dir.Read(ctx, "a")), sumOf(old))
	require.NoError(t, err)
	require.Equal(t, old, string(restored.Data))
	require.NoError(t, dir.Close())
	left, err := dir.Recover(ctx)
	require.NoError(t, err)
	require.Empty(t, left)
}

// keeping is a Committer that keeps the bytes of another program.
type keeping struct{ err error }

func (k keeping) Commit(context.Context, []files.Operation) ([]string, error) {
	return []string{"/kept/a"}, k.err
}

// FD-01: the names of kept files are in the result of a change, and in its error.
func TestKept(t *testing.T) {
	stale := fault.New(fault.FileChangedSinceRead, "keeping", "The file has changed.", "").Because(fault.Changed)
	for name, cause := range map[string]error{"none": nil, "refused": stale, "other": errors.New("broken")} {
		p := open(t, files.Options{Committer: keeping{cause}, Rebase: true}, map[string]string{"a": "a"})
		f, err := p.Edit(t.Context(), p.read("a"), "a", "b")
		if name == "none" {
			require.NoError(t, err)
			require.Equal(t, []string{"/kept/a"}, f.Kept)
			require.Empty(t, files.Kept(stale))
			continue
		}
		require.Equal(t, []string{"/kept/a"}, files.Kept(err), name)
		require.Contains(t, err.Error(), "Bytes of another program are in /kept/a.", name)
	}
}

// broken fails every read.
type broken struct{ err error }

func (b broken) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: b.err}
}

// FD-01: the errors of a file system get codes, and one backend of the two can be replaced.
func TestBackendErrors(t *testing.T) {
	for cause, code := range map[error]fault.Code{
		fs.ErrNotExist: fault.FileNotFound, fs.ErrPermission: fault.PermissionDenied, errors.New("broken"): fault.ReadContentFailure,
	} {
		p := open(t, files.Options{FS: broken{cause}}, nil)
		_, err := p.Read(t.Context(), "a")
		requireFault(t, err, code, "")
		require.ErrorIs(t, err, cause)
	}
	// An editor's unsaved text replaces the file for reads only: the change proves another base than
	// the one on disk.
	p := open(t, files.Options{FS: fstest.MapFS{"a": {Data: []byte("unsaved")}}}, map[string]string{"a": "saved"})
	_, err := p.Edit(t.Context(), p.read("a"), "unsaved", "mine")
	requireFault(t, err, fault.FileChangedSinceRead, fault.Changed)
	require.Equal(t, "saved", p.tree()["a"])

	m := &memory{tree: fstest.MapFS{"a": {Data: []byte("saved")}}}
	p = open(t, files.Options{Committer: m}, map[string]string{"a": "saved"})
	_, err = p.Edit(t.Context(), p.read("a"), "saved", "mine")
	require.NoError(t, err)
	require.Equal(t, "saved", p.tree()["a"])
	require.Equal(t, "mine", string(m.tree["a"].Data))
	_, err = p.Write(t.Context(), files.File{Name: "a", SHA256: sumOf("other")}, nil)
	requireFault(t, err, fault.FileChangedSinceRead, fault.Changed)
}
