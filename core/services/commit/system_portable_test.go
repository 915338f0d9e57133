//go:build !linux && !darwin

package commit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// TestDirectoryReplaced checks that nothing is written to a directory that was replaced by a
// different one since it was found inside the workspace.
func TestDirectoryReplaced(t *testing.T) { // FS-63
	parent := t.TempDir()
	path := filepath.Join(parent, "folder")
	require.NoError(t, os.Mkdir(path, 0o755))
	fx := fixtureIn(t, path, oldText)
	if err := os.Rename(path, filepath.Join(parent, "moved")); err != nil {
		t.Skip("an open directory cannot be renamed here:", err)
	}
	require.NoError(t, os.Mkdir(path, 0o755))
	require.NoError(t, os.WriteFile(fx.file, []byte(oldText), 0o644))
	_, err := New(Options{}).Commit(t.Context(), fx.request(oldText, newText))
	requireCode(t, err, fault.FileWriteFailure, "")
	require.ErrorIs(t, err, errReplaced)
	require.Equal(t, oldText, fx.content())
}
