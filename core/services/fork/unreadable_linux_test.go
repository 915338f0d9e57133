package fork_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/unprivileged"
	"github.com/fettle-dev/fettle/core/services/fork"
)

// A file that cannot be read is not in a copy, and a merge does not remove it.
func TestCopyLeavesOutUnreadable(t *testing.T) {
	top, ok := unprivileged.Run(t, func(top string) {
		require.NoError(t, os.Chmod(top, 0o777))
		writeAll(t, top, map[string]string{"p/secret": "s\n", "p/closed/x": "x\n"})
		require.NoError(t, os.Chmod(filepath.Join(top, "p"), 0o777))
		require.NoError(t, os.Chmod(filepath.Join(top, "p/secret"), 0o600))
		require.NoError(t, os.Chmod(filepath.Join(top, "p/closed"), 0o700))
	})
	if !ok {
		return
	}
	p := newProjectIn(t, top, map[string]string{"a": ten})
	p.mode = fork.Copy
	f := p.create("one")
	p.change(f, map[string]string{"a": first(ten)})
	r, err := p.merge(f, nil)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "merged"}, verdicts(r))
	require.FileExists(t, filepath.Join(p.dir, "secret"))
}
