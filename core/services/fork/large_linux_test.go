package fork_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/fault"
)

// large returns a project of 100,000 files in 1,000 directories, most of them links to the same file.
func large(t testing.TB) *project {
	t.Helper()
	p := newProject(t, map[string]string{"file": ten})
	for d := range 1000 {
		dir := filepath.Join(p.dir, fmt.Sprint("d", d))
		require.NoError(t, os.Mkdir(dir, 0o755))
		first := filepath.Join(dir, "f0")
		require.NoError(t, os.WriteFile(first, []byte(ten), 0o644))
		for n := range 99 {
			require.NoError(t, os.Link(first, filepath.Join(dir, fmt.Sprint("f", n+1))))
		}
	}
	return p
}

// fastest returns the shortest time of some calls.
func fastest(calls int, call func()) time.Duration {
	best := time.Hour
	for range calls {
		begun := time.Now()
		call()
		best = min(best, time.Since(begun))
	}
	return best
}

// FK-08: the costs of a fork depend on its changes, not on the 100,000 files of the project.
func TestLargeProject(t *testing.T) {
	p := large(t)
	s := p.store()
	took := fastest(5, func() {
		require.NoError(t, p.create("one").Close())
		require.NoError(t, s.Drop(t.Context(), "one", true))
	})
	t.Logf("created and dropped in %v", took)
	require.Less(t, took, 50*time.Millisecond)
	f := p.create("one")
	ticks(t)
	p.command(f, func(dir string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "d1/f1"), []byte("new\n"), 0o600))
	})
	took = fastest(5, func() { p.command(f, func(string) {}) })
	t.Logf("mounted and closed in %v", took)
	require.Less(t, took, 100*time.Millisecond)
	took = fastest(3, func() {
		r, err := f.Compare(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"d1/f1": "conflict alone"}, verdicts(r), "it has hard links")
	})
	t.Logf("compared in %v", took)
	require.Less(t, took, 100*time.Millisecond)
}

// FK-03, FK-08: a command may remove or add 100,000 files; all of them are recorded.
func TestManyChangedFiles(t *testing.T) {
	if os.Getenv("FETTLE_FULL") == "" {
		t.Skip("it takes a minute: FETTLE_FULL=1")
	}
	p := large(t)
	f := p.create("one")
	ticks(t)
	begun := time.Now()
	p.command(f, func(dir string) {
		for d := range 1000 {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, fmt.Sprint("d", d))))
		}
		require.NoError(t, os.Mkdir(filepath.Join(dir, "new"), 0o755))
		for n := range 100_000 {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "new", fmt.Sprint(n)), nil, 0o600))
		}
	})
	t.Logf("changed and recorded in %v", time.Since(begun))
	begun = time.Now()
	r, err := f.Compare(t.Context(), nil)
	require.NoError(t, err)
	t.Logf("compared in %v", time.Since(begun))
	require.Equal(t, 200_000, r.Clean())
	begun = time.Now()
	require.NoError(t, f.Close())
	require.NoError(t, p.store().Drop(t.Context(), "one", true))
	t.Logf("dropped in %v", time.Since(begun))
}

// FK-03: if there is no space for the records of a command, its changes are conflicts, also when there is space again.
func TestFullFileSystemAfterCommand(t *testing.T) {
	small := t.TempDir()
	if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("file systems cannot be mounted:", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(small, 0)) })
	full := 0
	for pages := 0; pages < 12; pages++ {
		top := filepath.Join(small, "t")
		p := newProjectIn(t, top, map[string]string{"a": strings.Repeat(ten, 1000), "b": ten})
		f := p.create("one")
		ticks(t)
		m, err := f.Mount(t.Context(), true)
		require.NoError(t, err)
		writeAll(t, m.Layers()[0].Upper, map[string]string{"a": "a\n", "b": "b\n", "c": "c\n"})
		fill(t, small, pages)
		err = m.Close(t.Context())
		require.NoError(t, os.Remove(filepath.Join(small, "full")))
		want := "clean"
		if err != nil {
			require.Equal(t, fault.NoSpaceLeft, fault.CodeOf(err), err)
			want = "conflict unknown_base"
			full++
		}
		m, err = f.Mount(t.Context(), true)
		require.NoError(t, err)
		require.NoError(t, m.Close(t.Context()))
		r, err := f.Compare(t.Context(), nil)
		require.NoError(t, err)
		got := verdicts(r)
		require.Len(t, got, 3)
		if want == "clean" {
			require.Equal(t, map[string]string{"a": "clean", "b": "clean", "c": "clean"}, got)
		}
		for name, verdict := range got { // some may have been recorded
			require.Contains(t, []string{"clean", want}, verdict, name)
		}
		if want != "clean" {
			require.Positive(t, r.Conflicts())
		}
		require.NoError(t, f.Close())
		require.NoError(t, p.store().Drop(t.Context(), "one", true))
		require.NoError(t, os.RemoveAll(top))
	}
	require.Positive(t, full)
	require.Less(t, full, 12)
}
