package gitdir_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/gitdir"
)

// SB-03: everything that determines which programs git runs is found, wherever it lies.
func TestSteering(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	ws, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	at := func(path string) string { return filepath.Join(ws, path) }
	write(t, filepath.Join(home, ".gitconfig"), "[core]\n\thooksPath = own-hooks\n[alias]\n\tx = !./tools/alias.sh\n")
	write(t, at("tree/tools/alias.sh"), "")
	write(t, at("tree/.git"), "gitdir: ../store/worktrees/w\n")
	write(t, at("store/worktrees/w/HEAD"), "ref: refs/heads/main\n")
	write(t, at("store/worktrees/w/commondir"), "../..\n")
	write(t, at("store/config"), "[include]\n\tpath = ../shared\n[includeIf \"gitdir:/x\"]\n\tpath = ../missing\n[filter \"x\"]\n\tclean = ./tools/clean %f\n\tsmudge = cat\n[core]\n\tfsmonitor = ./tools/none\n")
	write(t, at("shared"), "[core]\n\thooksPath = .hooks/ours\n")
	write(t, at("tree/tools/clean"), "")
	write(t, at("tree/linked-hook"), "")
	require.NoError(t, os.MkdirAll(at("store/hooks"), 0o755))
	require.NoError(t, os.Symlink("../../tree/linked-hook", at("store/hooks/pre-push")))

	found := gitdir.NewWatch(nil).Steering(at("tree"))
	for _, want := range []string{
		"store", "store/worktrees/w", "shared", "missing", "tree/.hooks/ours", "tree/own-hooks", "tree/tools/clean", "tree/tools/alias.sh", "tree/linked-hook",
	} {
		require.Contains(t, found, at(want))
	}
	for _, other := range []string{"", "tree", "tree/tools", "tree/tools/none", "tree/cat"} {
		require.NotContains(t, found, at(other))
	}
	require.Empty(t, gitdir.NewWatch(nil).Steering(at("tree/tools")))
}

// SB-03: a directory with the layout of a repository is one, whatever its name.
func TestIsMember(t *testing.T) {
	ws := t.TempDir()
	at := func(path string) string { return filepath.Join(ws, path) }
	for _, file := range []string{"bare/HEAD", "bare/objects/x", "bare/refs/x", "bare/config", "bare/src/config", "work/HEAD", "work/commondir", "part/HEAD", "part/config", "app/config", "app/objects/x", "app/refs/x"} {
		write(t, at(file), "")
	}
	for path, want := range map[string]bool{
		"bare/HEAD": true, "bare/config": true, "bare/Hooks": true, "bare/commondir": true, "work/HEAD": true, "work/config.worktree": true,
		"bare/src": false, "bare/src/config": false, "part/HEAD": false, "part/config": false, "app/config": false, "app/objects": false,
	} {
		require.Equal(t, want, gitdir.IsMember(at(path)), path)
	}
}
