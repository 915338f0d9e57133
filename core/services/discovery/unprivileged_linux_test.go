package discovery

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/unprivileged"
)

func TestUnreadableDirectoriesArePassedOver(t *testing.T) {
	top, ok := unprivileged.Run(t, func(top string) {
		for _, dir := range []string{"closed", "unlisted", "open"} {
			require.NoError(t, os.Mkdir(top+"/"+dir, 0o755))
			require.NoError(t, os.WriteFile(top+"/"+dir+"/a.go", nil, 0o644))
		}
		require.NoError(t, os.WriteFile(top+"/.gitignore", []byte("*.go\n"), 0o600))
		require.NoError(t, os.Chmod(top+"/closed", 0o700))
		require.NoError(t, os.Chmod(top+"/unlisted", 0o711))
	})
	if !ok {
		return
	}
	f, w := finderOver(t, top)
	require.Equal(t, []string{"open/a.go"}, globbed(t, f, "**/*.go"), "and the unreadable rules ignore nothing")
	_, err := f.Find(t.Context(), Find{Pattern: "unlisted/*", Limit: 10})
	require.Equal(t, fault.PermissionDenied, fault.CodeOf(err), "what was asked for is no empty answer")

	start, err := w.Resolve(".")
	require.NoError(t, err)
	tally, err := f.Walk(t.Context(), Walk{Start: start, Depth: -1}, func(File) bool { return true })
	require.NoError(t, err)
	require.Equal(t, 2, tally.Unreadable)
	require.Equal(t, []string{top + "/closed", top + "/unlisted"}, tally.Closed)
}

// An ignored directory is not opened: an attempt would be reported.
func TestIgnoredDirectoriesAreNotOpened(t *testing.T) {
	top, ok := unprivileged.Run(t, func(top string) {
		for _, dir := range []string{"closed", "ignored"} {
			require.NoError(t, os.Mkdir(top+"/"+dir, 0o700))
		}
		require.NoError(t, os.WriteFile(top+"/.gitignore", []byte("ignored/\n"), 0o644))
	})
	if !ok {
		return
	}
	f, w := finderOver(t, top)
	_, tally := walked(t, f, w, ".")
	require.Equal(t, []string{top + "/closed"}, tally.Closed)
	require.Equal(t, 1, tally.Ignored)
}
