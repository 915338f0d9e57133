package chat

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The branch is found from a directory below the top, also in a linked worktree, whose
// .git file has a relative or an absolute path.
func TestBranchOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"x/HEAD":          "ref: refs/heads/topic/a\n",
		"linked/.git":     "gitdir: ../x\n",
		"far/.git":        "gitdir: " + filepath.Join(dir, "x") + "\n",
		"plain/.git/HEAD": "0123456789abcdef\n",
		"other/.git":      "something\n",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	for name, want := range map[string]string{"linked": "topic/a", "linked/sub": "topic/a", "far": "topic/a", "plain": "01234567"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
		require.Equal(t, want, branchOf(filepath.Join(dir, name)), name)
	}
	require.Empty(t, gitDir(filepath.Join(dir, "other")))
}
