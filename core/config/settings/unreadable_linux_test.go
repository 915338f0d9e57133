package settings_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/unprivileged"
)

// CF-05: files that may not be read or written to.
func TestUnreadable(t *testing.T) {
	top, ok := unprivileged.Run(t, func(top string) {
		for name, text := range map[string]string{
			"home/.fettle/settings.json": `{"tools": {"exclude": ["a"]}}`, "project/.fettle/settings.json": `{"tools": {"exclude": ["b"]}}`, "project/.env": "A=1",
		} {
			path := filepath.Join(top, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
		require.NoError(t, os.Chmod(filepath.Join(top, "home/.fettle/settings.json"), 0))
		require.NoError(t, os.Chmod(filepath.Join(top, "project/.env"), 0))
		require.NoError(t, os.Chmod(filepath.Join(top, "project/.fettle"), 0o555))
	})
	if !ok {
		return
	}
	o := settings.Options{Layout: layout.Fettle(), HomeDir: filepath.Join(top, "home"), ProjectDir: filepath.Join(top, "project"), Trusted: true}
	o.Layout.SystemDir = ""
	r, err := settings.Load(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, r.Settings.Tools.Exclude)
	require.Len(t, r.Problems, 2)
	for _, p := range r.Problems {
		require.Contains(t, p.Message, "permission denied")
	}
	require.True(t, r.Problems[0].Open)

	for _, path := range []string{filepath.Join(o.HomeDir, ".fettle/settings.json"), filepath.Join(o.ProjectDir, ".fettle/settings.json")} {
		err := settings.Set(t.Context(), path, "model", "m")
		require.Equal(t, fault.FileWriteFailure, fault.CodeOf(err), "%v", err)
	}
}
