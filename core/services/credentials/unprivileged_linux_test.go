package credentials_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/unprivileged"
	"github.com/fettle-dev/fettle/core/services/credentials"
)

// UI-05: in a home directory that cannot be written nothing is stored, and a file of root
// is not read, even if its mode permits it.
func TestUnprivileged(t *testing.T) {
	top, ok := unprivileged.Run(t, func(top string) {
		require.NoError(t, os.Mkdir(filepath.Join(top, "home"), 0o555))
		require.NoError(t, os.WriteFile(filepath.Join(top, "keys.json"), []byte(`{"providers": {"groq": {"key": "x"}}}`), 0o644))
	})
	if !ok {
		return
	}
	s := credentials.Open(filepath.Join(top, "home", ".fettle", "keys.json"), nil)
	err := s.Put(t.Context(), credentials.Entry{Provider: "groq", Place: credentials.InFile}, "the-key")
	require.Equal(t, fault.FileWriteFailure, fault.CodeOf(err))
	require.Contains(t, fault.Line(err), "permission denied")
	_, err = credentials.Open(filepath.Join(top, "keys.json"), nil).List()
	require.Contains(t, fault.Line(err), "it belongs to another user")
}
