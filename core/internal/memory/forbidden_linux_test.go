package memory_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/unprivileged"
)

// Files and directories without permission to read or write.
func TestForbidden(t *testing.T) {
	home := func(top, name string) string { return filepath.Join(top, name) }
	top, ok := unprivileged.Run(t, func(top string) {
		for name, modes := range map[string][2]os.FileMode{
			"unreadable": {0o777, 0o222}, "read-only": {0o777, 0o444}, "fixed-dir": {0o555, 0o666},
		} {
			dir := filepath.Join(home(top, name), ".fettle")
			require.NoError(t, os.MkdirAll(dir, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "FETTLE.md"), []byte("text\n"), 0o600))
			require.NoError(t, os.Chmod(filepath.Join(dir, "FETTLE.md"), modes[1]))
			require.NoError(t, os.Chmod(dir, modes[0]))
		}
	})
	if !ok {
		return
	}
	for _, name := range []string{"unreadable", "read-only", "fixed-dir", "no-home"} {
		fx := fixtureIn(t, home(top, name))
		_, err := fx.Save(t.Context(), "fact")
		require.Equal(t, fault.MemoryToolExecution, fault.CodeOf(err), name)
		require.Contains(t, strings.ToLower(fault.As(err).Message), "perm", name)
		require.NotEmpty(t, fault.As(err).Remedy, name)
	}
	require.Equal(t, "text\n", fixtureIn(t, home(top, "read-only")).content())
}
