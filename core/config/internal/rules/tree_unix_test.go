//go:build unix

package rules_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/internal/rules"
	"github.com/fettle-dev/fettle/core/internal/unprivileged"
	"github.com/fettle-dev/fettle/core/policy"
)

func withholding(t *testing.T, top string) *rules.Rules {
	t.Helper()
	r, err := rules.Open(t.Context(), rules.Options{
		Workspace: place(top), ProjectDir: filepath.Join(top, ".fettle"), AdminDir: filepath.Join(top, "none"),
		Own: []policy.Rule{{Tools: []string{"read_file"}, ArgsPattern: `secret`, Decision: policy.Deny, Tier: policy.TierUser, Priority: 1}},
	})
	require.NoError(t, err)
	return r
}

// SB-03: a new file is found although the directory has its previous modification
// time, or has been replaced.
func TestWithheldAfterSetTimes(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	r := withholding(t, top)
	dir, old := filepath.Join(top, "a"), time.Now().Add(-time.Hour)
	require.NoError(t, os.Mkdir(dir, 0o700))
	find := func() []string {
		require.NoError(t, os.Chtimes(dir, old, old))
		found, err := r.Withheld(t.Context(), []string{top})
		require.NoError(t, err)
		return found
	}
	require.Empty(t, find())
	secret := filepath.Join(dir, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("x"), 0o600))
	require.Equal(t, []string{secret}, find())
	require.NoError(t, os.Rename(dir, filepath.Join(top, "b")))
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.Equal(t, []string{filepath.Join(top, "b", "secret")}, find())
}

// SB-03: a directory that cannot be searched is withheld.
func TestWithheldUnsearchable(t *testing.T) {
	top, ok := unprivileged.Run(t, func(top string) {
		for _, dir := range []string{"none", "list", "open"} {
			require.NoError(t, os.MkdirAll(filepath.Join(top, dir, "deep"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(top, dir, "deep", "secret"), []byte("x"), 0o600))
		}
		require.NoError(t, filepath.WalkDir(top, func(path string, _ os.DirEntry, _ error) error { return os.Chown(path, 65534, 65534) }))
	})
	if !ok {
		return
	}
	r := withholding(t, top)
	for dir, mode := range map[string]os.FileMode{"none": 0, "list": 0o600} {
		require.NoError(t, os.Chmod(filepath.Join(top, dir), mode))
	}
	found, err := r.Withheld(t.Context(), []string{top})
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(top, "list"), filepath.Join(top, "none"), filepath.Join(top, "open/deep/secret")}, found)
}
