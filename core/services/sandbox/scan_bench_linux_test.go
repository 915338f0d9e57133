package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkScan scans a workspace of 2,000 directories in which nothing has changed.
func BenchmarkScan(b *testing.B) {
	ws := b.TempDir()
	for i := range 2000 {
		if err := os.MkdirAll(filepath.Join(ws, fmt.Sprintf("%d/%d/%d", i%10, i%100, i)), 0o700); err != nil {
			b.Fatal(err)
		}
	}
	tree := NewTree(protectsGit, func() bool { return false }, func() (string, error) { return b.TempDir(), nil })
	for b.Loop() {
		tree.Begin([]string{ws})
		if _, err := tree.End(); err != nil {
			b.Fatal(err)
		}
	}
}
