package rulefile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/unprivileged"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
)

// A file without write permission is reported, and no temporary file is left.
func TestAppendNotPermitted(t *testing.T) {
	const nobody = 65534
	top, ok := unprivileged.Run(t, func(top string) {
		write(t, filepath.Join(top, "locked", "a.toml"), deny())
		write(t, filepath.Join(top, "locked", "broken.toml"), "[[rule")
		secret := write(t, filepath.Join(top, "mine", "secret.toml"), deny())
		require.NoError(t, os.Chown(filepath.Join(top, "mine"), nobody, nobody))
		require.NoError(t, os.Chmod(secret, 0))
	})
	if !ok {
		return
	}
	for _, name := range []string{"locked/a.toml", "locked/new.toml", "locked/broken.toml", "locked/sub/a.toml", "mine/secret.toml"} {
		_, err := rulefile.Append(t.Context(), filepath.Join(top, name), []policy.Rule{approval("ls")})
		require.Equal(t, fault.FileWriteFailure, fault.CodeOf(err), name)
		require.Contains(t, fault.As(err).Message, "permission denied")
		require.NotEmpty(t, fault.As(err).Remedy)
	}
	onlyFiles(t, filepath.Join(top, "locked"), "a.toml", "broken.toml")
	onlyFiles(t, filepath.Join(top, "mine"), "secret.toml")
}

// An unreadable file is reported and asked about, and the others are read. The same
// applies to the administrator's files.
func TestLoadUnreadable(t *testing.T) {
	top, ok := unprivileged.Run(t, func(top string) {
		write(t, filepath.Join(top, "a.toml"), deny())
		write(t, filepath.Join(top, "b.toml"), deny())
		require.NoError(t, os.Chmod(filepath.Join(top, "a.toml"), 0))
		write(t, filepath.Join(top, "closed", "policies", "a.toml"), deny())
		require.NoError(t, os.Chmod(filepath.Join(top, "closed"), 0o700))
	})
	if !ok {
		return
	}
	files, problems := rulefile.Load(t.Context(), []string{top}, user)
	require.Len(t, files, 2)
	require.Equal(t, anything(filepath.Join(top, "a.toml"), policy.TierUser), files[0].StandIns)
	require.Len(t, files[1].Rules, 1)
	require.Len(t, problems, 1)
	require.Contains(t, problems[0].String(), "permission denied")

	closed := filepath.Join(top, "closed", "policies")
	require.Nil(t, rulefile.CheckAdmin(closed))
	files, problems = rulefile.Load(t.Context(), []string{closed}, rulefile.Options{Tier: policy.TierAdmin})
	require.Len(t, files, 1)
	require.Equal(t, anything(closed, policy.TierAdmin), files[0].StandIns)
	require.Len(t, problems, 1)
}
