package skills_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/unprivileged"
	"github.com/fettle-dev/fettle/core/skills"
)

// An unreadable file affects no other.
func TestUnreadable(t *testing.T) {
	top, ok := unprivileged.Run(t, func(top string) {
		write(t, filepath.Join(top, "skills", "a"), "a", "d")
		require.NoError(t, os.Chmod(filepath.Join(top, "skills", "a", "SKILL.md"), 0o644))
		require.NoError(t, os.Chmod(filepath.Join(write(t, filepath.Join(top, "skills", "b"), "b", "d"), "SKILL.md"), 0o600))
		require.NoError(t, os.MkdirAll(filepath.Join(top, "skills", "c", "SKILL.md"), 0o755))
		require.NoError(t, os.Mkdir(filepath.Join(top, "shut"), 0o700))
	})
	if !ok {
		return
	}
	m := discover(t, nil, skills.Dir{Path: filepath.Join(top, "skills"), Scope: skills.ScopeUser}, skills.Dir{Path: filepath.Join(top, "shut"), Scope: skills.ScopeUser})
	require.Equal(t, []string{"a"}, names(m.All()))
	require.Len(t, m.Problems(), 3, said(m))
	require.Contains(t, said(m), "not a regular file")
	require.Contains(t, said(m), "permission denied")
}
