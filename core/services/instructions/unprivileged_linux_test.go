package instructions

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/unprivileged"
)

// FT-12: unreadable files and directories are skipped.
func TestUnreadable(t *testing.T) {
	top, ok := unprivileged.Run(t, func(top string) {
		require.NoError(t, os.MkdirAll(top+"/a/b", 0o755))
		require.NoError(t, os.WriteFile(top+"/AGENTS.md", []byte("root"), 0o644))
		require.NoError(t, os.WriteFile(top+"/a/AGENTS.md", []byte("private"), 0o600))
		require.NoError(t, os.WriteFile(top+"/a/b/AGENTS.md", []byte("closed"), 0o644))
		require.NoError(t, os.Chmod(top+"/a/b", 0o700))
	})
	if !ok {
		return
	}
	require.Equal(t, []string{"root"}, found(t, "a/b/x.go", top))
}
