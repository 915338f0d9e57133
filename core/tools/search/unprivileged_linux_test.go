package search_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/unprivileged"
	"github.com/fettle-dev/fettle/core/tools/search"
)

// Unreadable directories and files are skipped and reported; if the call names one, it fails.
func TestUnreadable(t *testing.T) {
	top, ok := unprivileged.Run(t, func(top string) {
		for _, dir := range []string{"closed", "open"} {
			require.NoError(t, os.Mkdir(filepath.Join(top, dir), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(top, dir, "f"), []byte("needle\n"), 0o644))
		}
		require.NoError(t, os.WriteFile(filepath.Join(top, "secret"), []byte("needle\n"), 0o600))
		require.NoError(t, os.Chmod(filepath.Join(top, "closed"), 0o700))
	})
	if !ok {
		return
	}
	w := &world{t: t, dir: top, dirs: []string{top}, now: time.Now().Add(48 * time.Hour)}
	got, a := w.shown(search.SearchFileContent, args{"pattern": "needle"})
	require.Equal(t, []string{"open/f:1:needle"}, got)
	require.Equal(t, []string{w.path("closed")}, a.Unreadable)
	require.Equal(t, 1, a.Failed)
	got, a = w.shown(search.Glob, args{"pattern": "**"})
	require.Equal(t, []string{"open/f", "secret"}, got)
	require.Equal(t, []string{w.path("closed")}, a.Unreadable)
	for tool, name := range map[string]string{search.Glob: "closed", search.SearchFileContent: "secret"} {
		result := w.run(t.Context(), tool, args{"pattern": "x", "dir_path": name})
		require.Equal(t, fault.PermissionDenied, result.Error.Code)
	}
}
