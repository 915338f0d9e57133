package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkScan scans a workspace of 2,000 directories twice, before and after a command that changes
// nothing. Without watches, each scan is a system call for each directory.
func BenchmarkScan(b *testing.B) {
	b.Run("watched", func(b *testing.B) { benchmarkScan(b, maxWatches) })
	b.Run("not watched", func(b *testing.B) { benchmarkScan(b, 0) })
}

func benchmarkScan(b *testing.B, most int) {
	b.Helper()
	ws := b.TempDir()
	for i := range 2000 {
		if err := os.MkdirAll(filepath.Join(ws, fmt.Sprintf("%d/%d/%d", i%10, i%100, i)), 0o700); err != nil {
			b.Fatal(err)
		}
	}
	tree := NewTree(protectsGit, func() bool { return false }, func() (string, error) { return b.TempDir(), nil })
	defer tree.Close() //nolint:errcheck // nothing was created
	if tree.watches = newWatches(); tree.watches != nil {
		tree.watches.left = min(tree.watches.left, most)
	}
	for b.Loop() {
		tree.Begin([]string{ws}, nil)
		if _, err := tree.End(); err != nil {
			b.Fatal(err)
		}
	}
}
