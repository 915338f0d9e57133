package discovery

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// forkOf opens a fork of a directory.
func forkOf(t testing.TB, dir string) (w *workspace.Workspace, upper string) {
	t.Helper()
	upper, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	w, err = workspace.OpenOverlays([]workspace.Overlay{{Dir: dir, Upper: upper}}, dir)
	require.NoError(t, err)
	t.Cleanup(func() { w.Close() })
	return w, upper
}

// FK-02: search, glob and ignore files see the files of a fork.
func TestSearchInFork(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	write := func(top, name, text string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Join(top, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(top, name), []byte(text), 0o644))
	}
	for _, name := range []string{"kept.go", "changed.go", "removed.go", "d/kept.go", "d/removed.go", "gone/a.go", "ignored.go"} {
		write(dir, name, "func below() {\n")
	}
	w, upper := forkOf(t, dir)
	write(upper, "changed.go", "func above() {\n")
	write(upper, "d/new.go", "func above() {\n")
	write(upper, ".gitignore", "ignored.go\n")
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".git"), 0o755))
	for _, name := range []string{"removed.go", "d/removed.go", "gone/a.go"} {
		p, err := w.Resolve(name)
		require.NoError(t, err)
		at, err := w.Locate(p)
		require.NoError(t, err)
		require.NoError(t, at.Close())
		require.NoError(t, os.Remove(filepath.Join(upper, name)))
		require.NoError(t, syscall.Mknod(filepath.Join(upper, name), syscall.S_IFCHR, 0))
	}
	lines, _ := search(t, New(w), w, ".", Search{Pattern: pattern(t, "func")})
	require.Equal(t, []string{"changed.go:1:func above() {", "d/kept.go:1:func below() {", "d/new.go:1:func above() {", "kept.go:1:func below() {"}, lines)
}

// FK-08: a search in 10,000 files of 1 KB, through a fork and in the project. go test -bench ForkSearch -run '^$'
// ./core/services/discovery
func BenchmarkForkSearch(b *testing.B) {
	dir, err := filepath.EvalSymlinks(b.TempDir())
	require.NoError(b, err)
	for d := range 100 {
		require.NoError(b, os.Mkdir(fmt.Sprintf("%s/d%d", dir, d), 0o755))
		for f := range 100 {
			require.NoError(b, os.WriteFile(fmt.Sprintf("%s/d%d/f%d", dir, d, f), []byte(strings.Repeat("text of a file\n", 70)), 0o644))
		}
	}
	plain, err := workspace.Open(dir)
	require.NoError(b, err)
	defer plain.Close()
	forked, upper := forkOf(b, dir)
	require.NoError(b, os.Mkdir(upper+"/d7", 0o755))
	require.NoError(b, os.WriteFile(upper+"/d7/f7", []byte("needle\n"), 0o644))
	var least [2]time.Duration
	for b.Loop() {
		for i, w := range []*workspace.Workspace{plain, forked} {
			begun := time.Now()
			lines, _ := search(b, New(w), w, ".", Search{Pattern: pattern(b, "needle")})
			require.Len(b, lines, i)
			if took := time.Since(begun); least[i] == 0 || took < least[i] {
				least[i] = took
			}
		}
	}
	b.ReportMetric(float64(least[0].Microseconds()), "plain-us")
	b.ReportMetric(float64(least[1].Microseconds()), "fork-us")
	b.ReportMetric(float64(least[1])/float64(least[0]), "ratio")
}
