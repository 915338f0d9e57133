package subagent_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/internal/unprivileged"
)

// A file without read permission affects no other.
func TestLoadForbidden(t *testing.T) {
	top, ok := unprivileged.Run(t, func(top string) {
		write(t, filepath.Join(top, "agents"), "b.md", agentFile("b", "d"))
		require.NoError(t, os.Chmod(write(t, filepath.Join(top, "agents"), "a.md", agentFile("a", "d")), 0o600))
	})
	if !ok {
		return
	}
	defs, problems, err := subagent.Load(t.Context(), subagent.LoadOptions{
		Dirs: []subagent.Dir{{Path: filepath.Join(top, "agents"), Scope: subagent.ScopeUser}},
	})
	require.NoError(t, err)
	require.Len(t, defs, 1)
	require.Contains(t, report(problems), "a.md: The agent cannot be read: permission denied")
}
