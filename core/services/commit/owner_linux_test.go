package commit

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/fault"
)

// TestAsNobody runs the tests below again as a user to whom mode bits apply.
func TestAsNobody(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	dir, err := os.MkdirTemp("", "fettle-nobody")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	require.NoError(t, os.Chmod(dir, 0o777))
	binary := filepath.Join(dir, "test")
	data, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(binary, data, 0o755))
	cmd := exec.Command(binary, "-test.run=^TestNobody", "-test.v")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "FETTLE_COMMIT_NOBODY=1", "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestNobodyPermissions")
	require.Contains(t, string(out), "--- PASS: TestNobodyReadOnlyDirectory")
	require.Contains(t, string(out), "--- PASS: TestNobodyNoRecord")
}

func skipUnlessNobody(t *testing.T) {
	t.Helper()
	if os.Getenv("FETTLE_COMMIT_NOBODY") == "" {
		t.Skip("run by TestAsNobody")
	}
}

func TestNobodyPermissions(t *testing.T) {
	skipUnlessNobody(t)
	refused := func(t *testing.T, fx *fixture, base string) {
		t.Helper()
		before := fx.names()
		_, err := New(Options{}).Commit(t.Context(), fx.request(base, newText))
		requireCode(t, err, fault.PermissionDenied, "")
		require.Equal(t, before, fx.names())
	}
	t.Run("read-only file", func(t *testing.T) {
		fx := newFixture(t, oldText)
		require.NoError(t, os.Chmod(fx.file, 0o444))
		refused(t, fx, oldText)
		require.Equal(t, oldText, fx.content())
	})
	t.Run("unreadable file", func(t *testing.T) {
		fx := newFixture(t, oldText)
		require.NoError(t, os.Chmod(fx.file, 0o200))
		refused(t, fx, oldText)
	})
	t.Run("read-only directory", func(t *testing.T) {
		fx := newFixture(t, oldText)
		require.NoError(t, os.Chmod(fx.path, 0o555))
		defer os.Chmod(fx.path, 0o755)
		refused(t, fx, oldText)
		require.Equal(t, oldText, fx.content())
	})
	t.Run("new file in a read-only directory", func(t *testing.T) {
		fx := newFixture(t, "")
		require.NoError(t, os.Chmod(fx.path, 0o555))
		defer os.Chmod(fx.path, 0o755)
		refused(t, fx, "")
	})
	t.Run("read-only file with two names", func(t *testing.T) {
		fx := newFixture(t, oldText)
		require.NoError(t, os.Link(fx.file, fx.file+" 2"))
		require.NoError(t, os.Chmod(fx.file, 0o444))
		refused(t, fx, oldText)
	})
}

// TestNobodyForeignOwner uses a writable file of another user. A new file could not get its owner,
// so it is rewritten in place, and refused without a recovery directory.
func TestNobodyForeignOwner(t *testing.T) {
	skipUnlessNobody(t)
	path := os.Getenv("FETTLE_COMMIT_FOREIGN")
	if path == "" {
		t.Skip("run by TestForeignOwner")
	}
	fx := fixtureIn(t, filepath.Dir(path), "")
	fx.file = path
	before := fx.names()
	_, err := New(Options{}).Commit(t.Context(), fx.request(oldText, newText))
	requireCode(t, err, fault.PermissionDenied, "")
	require.Contains(t, fault.As(err).Remedy, "recovery directory")
	require.Equal(t, oldText, fx.content())
	require.Equal(t, before, fx.names())

	recovery := t.TempDir()
	out, err := New(Options{RecoveryDir: recovery}).Commit(t.Context(), fx.request(oldText, newText))
	require.NoError(t, err)
	require.Equal(t, MethodInPlace, out.Method)
	require.Equal(t, newText, fx.content())
	require.Equal(t, before, fx.names())
	entries, err := os.ReadDir(recovery)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestForeignOwner(t *testing.T) { // FS-58, FS-64
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	dir, err := os.MkdirTemp("", "fettle-foreign")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	require.NoError(t, os.Chmod(dir, 0o777))
	binary := filepath.Join(dir, "test")
	data, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(binary, data, 0o755))
	for name, tt := range map[string]struct {
		directory os.FileMode
		uid, gid  int
		mode      uint32
		then      uint32
	}{
		"another owner":      {0o777, 1234, 65534, 0o664, 0o664},
		"another group":      {0o777, 65534, 4321, 0o644, 0o644},
		"set-ID bits":        {0o777, 1234, 4321, 0o6776, 0o776}, // the kernel drops them
		"in a sticky one":    {0o777 | os.ModeSticky, 1234, 65534, 0o666, 0o666},
		"in a read-only one": {0o755, 1234, 65534, 0o664, 0o664},
	} {
		t.Run(name, func(t *testing.T) {
			directory, err := os.MkdirTemp(dir, "")
			require.NoError(t, err)
			require.NoError(t, os.Chmod(directory, tt.directory))
			target := filepath.Join(directory, "target.txt")
			require.NoError(t, os.WriteFile(target, []byte(oldText), 0o644))
			require.NoError(t, os.Chown(target, tt.uid, tt.gid))
			require.NoError(t, unix.Chmod(target, tt.mode))
			var before, after unix.Stat_t
			require.NoError(t, unix.Stat(target, &before))

			cmd := exec.Command(binary, "-test.run=^TestNobodyForeignOwner$", "-test.v")
			cmd.Env = append(os.Environ(), "FETTLE_COMMIT_NOBODY=1", "FETTLE_COMMIT_FOREIGN="+target, "TMPDIR="+dir)
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), "--- PASS: TestNobodyForeignOwner")
			require.NoError(t, unix.Stat(target, &after))
			require.EqualValues(t, tt.uid, after.Uid)
			require.EqualValues(t, tt.gid, after.Gid)
			require.Equal(t, tt.then, after.Mode&0o7777)
			require.Equal(t, before.Ino, after.Ino)
		})
	}
}
