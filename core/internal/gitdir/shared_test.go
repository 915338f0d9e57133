package gitdir_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/gitdir"
)

// SB-02: a linked work tree shares a directory only with a repository that names it too.
func TestSharedDirectory(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	repo, linked, claimed := filepath.Join(base, "repo"), filepath.Join(base, "linked"), filepath.Join(base, "claimed")
	write(t, filepath.Join(repo, "a"), "")
	git(t, repo, "init", "-q")
	git(t, repo, "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-q", "--allow-empty", "-m", "x")
	git(t, repo, "worktree", "add", "-q", linked)

	require.Equal(t, filepath.Join(repo, ".git"), gitdir.SharedDirectory(linked))
	require.Empty(t, gitdir.SharedDirectory(repo))
	require.Empty(t, gitdir.SharedDirectory(filepath.Join(repo, ".git", "worktrees", "linked")))

	// A directory that claims to be the work tree.
	pointer, err := os.ReadFile(filepath.Join(linked, ".git"))
	require.NoError(t, err)
	write(t, filepath.Join(claimed, ".git"), string(pointer))
	require.Empty(t, gitdir.SharedDirectory(claimed))

	// Records in the work tree that name a foreign directory.
	write(t, filepath.Join(base, "keys", "HEAD"), "")
	write(t, filepath.Join(claimed, "own", "worktrees", "w", "HEAD"), "")
	write(t, filepath.Join(claimed, "own", "worktrees", "w", "commondir"), filepath.Join(base, "keys"))
	write(t, filepath.Join(claimed, "own", "worktrees", "w", "gitdir"), filepath.Join(claimed, ".git"))
	write(t, filepath.Join(claimed, ".git"), "gitdir: own/worktrees/w")
	require.Empty(t, gitdir.SharedDirectory(claimed))
	write(t, filepath.Join(claimed, "own", "worktrees", "w", "commondir"), "../..")
	require.Equal(t, filepath.Join(claimed, "own"), gitdir.SharedDirectory(claimed), "its own directory")
}
