package workspace

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// readWhole reads a file as a tool does.
func readWhole(w *Workspace, p Path) error {
	f, err := w.OpenRead(p)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := InfoOf(f); err != nil {
		return err
	}
	_, err = io.ReadAll(f)
	return err
}

// forkOf opens a fork of a directory in which a directory and a file are changed.
func forkOf(tb testing.TB, dir, changed string) *Workspace {
	tb.Helper()
	upper, err := filepath.EvalSymlinks(tb.TempDir())
	require.NoError(tb, err)
	w, err := OpenOverlays([]Overlay{{Dir: dir, Upper: upper}}, dir)
	require.NoError(tb, err)
	tb.Cleanup(func() { w.Close() })
	l, err := w.Locate(resolve(tb, w, filepath.Join(dir, changed)))
	require.NoError(tb, err)
	require.NoError(tb, l.Close())
	return w
}

// FK-08: a read through a fork takes at most 1.3 times as long as a plain one. The ratio is printed; go test
// -bench Fork -run '^$' ./core/services/workspace
func BenchmarkForkRead(b *testing.B) {
	top := tree(b, "ws/one/two/three/file x", "ws/one/two/three/changed x", "ws/other/two/three/file x")
	require.NoError(b, os.WriteFile(top+"/ws/one/two/three/file", make([]byte, 4096), 0o644))
	require.NoError(b, os.WriteFile(top+"/ws/other/two/three/file", make([]byte, 4096), 0o644))
	require.NoError(b, os.WriteFile(top+"/ws/one/two/three/changed", make([]byte, 4096), 0o644))
	plain, err := Open(top + "/ws")
	require.NoError(b, err)
	defer plain.Close()
	forked := forkOf(b, top+"/ws", "one/two/three/changed")
	for name, path := range map[string]string{"unchanged": "other/two/three/file", "beside a change": "one/two/three/file", "changed": "one/two/three/changed"} {
		b.Run(name, func(b *testing.B) {
			var least [2]time.Duration
			for b.Loop() {
				for i, w := range []*Workspace{plain, forked} {
					p := resolve(b, w, path)
					begun := time.Now()
					const times = 200
					for range times {
						if err := readWhole(w, p); err != nil {
							b.Fatal(err)
						}
					}
					if took := time.Since(begun) / times; least[i] == 0 || took < least[i] {
						least[i] = took
					}
				}
			}
			b.ReportMetric(float64(least[0].Nanoseconds()), "plain-ns")
			b.ReportMetric(float64(least[1].Nanoseconds()), "fork-ns")
			b.ReportMetric(float64(least[1])/float64(least[0]), "ratio")
		})
	}
}

// FK-08: listing 10,000 files in 100 directories.
func BenchmarkForkWalk(b *testing.B) {
	dir, err := filepath.EvalSymlinks(b.TempDir())
	require.NoError(b, err)
	for d := range 100 {
		require.NoError(b, os.Mkdir(fmt.Sprintf("%s/d%d", dir, d), 0o755))
		for f := range 100 {
			require.NoError(b, os.WriteFile(fmt.Sprintf("%s/d%d/f%d", dir, d, f), nil, 0o644))
		}
	}
	plain, err := Open(dir)
	require.NoError(b, err)
	defer plain.Close()
	forked := forkOf(b, dir, "d7/f7")
	walk := func(w *Workspace) {
		top, err := w.OpenDir(resolve(b, w, dir))
		require.NoError(b, err)
		defer top.Close()
		n := 0
		buf := make([]byte, 32<<10)
		for d := range 100 {
			sub, err := top.Below(fmt.Sprintf("d%d", d))
			require.NoError(b, err)
			require.NoError(b, sub.Names(buf, func(Name) bool { n++; return true }))
			sub.Close()
		}
		require.Equal(b, 10_000, n)
	}
	var least [2]time.Duration
	for b.Loop() {
		for i, w := range []*Workspace{plain, forked} {
			begun := time.Now()
			walk(w)
			if took := time.Since(begun); least[i] == 0 || took < least[i] {
				least[i] = took
			}
		}
	}
	b.ReportMetric(float64(least[0].Microseconds()), "plain-us")
	b.ReportMetric(float64(least[1].Microseconds()), "fork-us")
	b.ReportMetric(float64(least[1])/float64(least[0]), "ratio")
}
