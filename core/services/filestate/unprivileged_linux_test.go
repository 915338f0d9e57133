package filestate

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
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

// RC-31, PR-11: what mode bits forbid, and its recovery.
func TestUnreadableFile(t *testing.T) {
	top, ok := unprivileged(t, func(top string) {
		require.NoError(t, os.WriteFile(top+"/private", []byte("x"), 0o600))
		require.NoError(t, os.Mkdir(top+"/closed", 0o700))
		require.NoError(t, os.WriteFile(top+"/closed/file", []byte("x"), 0o644))
	})
	if !ok {
		return
	}
	w, err := workspace.Open(top)
	require.NoError(t, err)
	defer w.Close()
	s := New(Options{Files: w})
	for _, name := range []string{"private", "closed/file"} {
		p, err := w.Resolve(name)
		require.NoError(t, err)
		_, err = s.Read(t.Context(), ReadRequest{Path: p})
		require.Equal(t, fault.PermissionDenied, fault.CodeOf(err), name)
	}
	p, err := w.Resolve("closed/file")
	require.NoError(t, err)
	refusal := s.Decide(Check{Path: p, Verb: editing})
	require.Equal(t, fault.PriorReadVerificationFailed, refusal.Code)
	require.Contains(t, refusal.Message, "EACCES")
	require.Equal(t, int64(1), s.Cache.Stats().StatFailures)
	require.Zero(t, s.Versions.Current())
}
