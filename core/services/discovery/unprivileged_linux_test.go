package discovery

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/unprivileged"
)

func TestUnreadableFoldersArePassedOver(t *testing.T) {
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
	f, _ := finderOver(t, top)
	require.Equal(t, []string{"open/a.go"}, glob(t, f, "**/*.go"), "and the unreadable rules ignore nothing")
	require.Empty(t, glob(t, f, "unlisted/*"))
}
