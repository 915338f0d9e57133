package integration_test

import (
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Equal sources build equal programs in any directory. BE-03: a release is at most as large as
// releaseSize.
func TestReproducible(t *testing.T) {
	t.Parallel()
	if os.Getenv("FETTLE_FULL") == "" {
		t.Skip("building the program twice takes minutes: FETTLE_FULL=1 runs it")
	}
	git := func(dir string, args ...string) {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	top, err := filepath.Abs("..")
	require.NoError(t, err)
	var sums [2][sha256.Size]byte
	for i := range sums {
		checkout := filepath.Join(t.TempDir(), "a directory of another length"[:10+5*i])
		git(top, "clone", "--quiet", ".", checkout)
		cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", "fettle", "./cli/fettle")
		cmd.Dir, cmd.Env = checkout, append(os.Environ(), "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		program, err := os.ReadFile(filepath.Join(checkout, "fettle"))
		require.NoError(t, err)
		t.Logf("%d bytes", len(program))
		require.LessOrEqual(t, len(program), releaseSize, "the program has %.1f MB. %s", float64(len(program))/1e6, howToShrink)
		require.NotContains(t, string(program), checkout, "the program contains the directory of the build")
		sums[i] = sha256.Sum256(program)
	}
	require.Equal(t, sums[0], sums[1])
}
