package discovery

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// unprivileged runs the test again as nobody, for whom mode bits hold. In
// that run it returns true and the folder that prepare filled.
func unprivileged(t *testing.T, prepare func(top string)) (top string, ok bool) {
	t.Helper()
	const variable, nobody = "FETTLE_TEST_UNPRIVILEGED", 65534
	if top := os.Getenv(variable); top != "" {
		return top, true
	}
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	top, err := os.MkdirTemp("", "fettle") //nolint:usetesting // t.TempDir lies in a folder that others may not enter
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(top)) })
	require.NoError(t, os.Chmod(top, 0o755))
	prepare(top)
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), variable+"="+top)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, fs.ErrPermission) {
		t.Skip("the test binary cannot be run by another user")
	}
	require.NoError(t, err, "%s", out)
	require.True(t, bytes.Contains(out, []byte("--- PASS: "+t.Name())), "%s", out)
	return "", false
}

func TestUnreadableFoldersArePassedOver(t *testing.T) {
	top, ok := unprivileged(t, func(top string) {
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
