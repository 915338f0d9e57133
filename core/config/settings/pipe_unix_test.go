//go:build unix

package settings_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
)

// A file that is not regular is reported, and does not block.
func TestPipe(t *testing.T) {
	m := newMachine(t)
	path := m.user("")
	m.write("home/.fettle/.env", "")
	require.NoError(t, syscall.Unlink(path))
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	require.NoError(t, syscall.Unlink(m.path("home/.fettle/.env")))
	require.NoError(t, syscall.Mkfifo(m.path("home/.fettle/.env"), 0o600))
	r := m.load()
	require.Len(t, r.Problems, 2)
	for _, p := range r.Problems {
		require.Contains(t, p.Message, "regular file")
	}
	m.File = path
	_, err := settings.Load(t.Context(), m.Options)
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
}
