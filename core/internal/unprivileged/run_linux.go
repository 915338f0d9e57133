package unprivileged

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// Run runs the calling test again as the user nobody, to whom permission bits apply. In
// that run it returns true and the directory that prepare, run by root, has filled. In
// root's run it returns false after the other has passed, and the test has nothing left
// to do. The test is skipped if the process cannot change its user.
func Run(t *testing.T, prepare func(top string)) (top string, ok bool) {
	t.Helper()
	const variable, nobody = "FETTLE_TEST_UNPRIVILEGED", 65534
	if top := os.Getenv(variable); top != "" {
		return top, true
	}
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	dir, err := os.MkdirTemp("", "fettle") //nolint:usetesting // t.TempDir lies in a directory that others may not enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	prepare(dir)
	// The link stays executable even if the path of the binary is out of reach.
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), variable+"="+dir)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, fs.ErrPermission):
		t.Skip("the test binary cannot be run by another user")
	case err != nil:
		t.Fatalf("as nobody: %v\n%s", err, out)
	case !bytes.Contains(out, []byte("--- PASS: "+t.Name())):
		t.Fatalf("as nobody the test did not run to its end:\n%s", out)
	}
	return "", false
}
