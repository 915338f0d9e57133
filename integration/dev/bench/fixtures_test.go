package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// git applies the diffs of a Change in both directions.
func TestChange(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git program here")
	}
	for _, n := range lineCounts() {
		c := changeOf(n)
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		require.NoError(t, os.WriteFile(path, []byte(c.Texts[0]), 0o644))
		for i, want := range []string{c.Texts[1], c.Texts[0]} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "d"), []byte(c.Diffs[i]), 0o644))
			cmd := exec.CommandContext(t.Context(), git, "apply", "d")
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%d lines: %s", n, out)
			got, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, want, string(got))
		}
		require.NotEqual(t, c.Texts[0], c.Singles[1])
		require.NotEqual(t, c.Texts[1], c.Singles[1])
	}
}

// GO-07: closed sessions leave no goroutine, and nothing grows with their number.
func TestSessionsLeaveNoGoroutine(t *testing.T) {
	lab := newLab(t)
	cmd, err := lab.child(t.Context(), childTask{Sessions: 50, Use: true})
	require.NoError(t, err)
	r, err := outputOf[sessionReport](cmd)
	require.NoError(t, err)
	require.Zero(t, r.Goroutines)
	require.Positive(t, r.Elapsed)
	require.Positive(t, r.Heap)
}
