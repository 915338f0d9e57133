package commit

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/fault"
)

// making counts the files that are created in directories.
type making struct {
	system
	files int
}

func (s *making) createUnnamed(dir *os.File, perm fs.FileMode) (*os.File, error) {
	s.files++
	return s.system.createUnnamed(dir, perm)
}

func (s *making) createNamed(dir *os.File, name string, perm fs.FileMode) (*os.File, error) {
	s.files++
	return s.system.createNamed(dir, name, perm)
}

// requireInPlace commits to a target that no new file can replace, and then again after a run that
// was killed half way.
func requireInPlace(t *testing.T, fx *fixture) {
	t.Helper()
	before, err := os.Stat(fx.file)
	require.NoError(t, err)
	names, recovery := fx.names(), t.TempDir()
	s := &making{system: kernel{}}
	c := newOn(s, Options{RecoveryDir: recovery})
	out, err := c.Commit(t.Context(), fx.request(oldText, newText))
	require.NoError(t, err)
	require.Equal(t, MethodInPlace, out.Method)
	require.Equal(t, newText, fx.content())
	require.Zero(t, s.files, "a temporary file was tried")
	require.Equal(t, names, fx.names())

	require.NoError(t, os.WriteFile(fx.file, []byte(oldText), 0))
	require.True(t, runKilled(t, fx.path, recovery, string(StepInPlaceHalf), "exchange"))
	require.NotContains(t, []string{oldText, newText}, fx.content())
	left, err := c.Recover(t.Context())
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Equal(t, LeftoverFinished, left[0].State, left[0].Detail)
	require.Equal(t, newText, fx.content())
	require.Equal(t, names, fx.names())
	entries, err := os.ReadDir(recovery)
	require.NoError(t, err)
	require.Empty(t, entries)
	after, err := os.Stat(fx.file)
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after))
	require.Equal(t, before.Mode(), after.Mode())
}

// TestNobodyReadOnlyDirectory uses a writable file in an unwritable directory.
func TestNobodyReadOnlyDirectory(t *testing.T) { // FS-64
	skipUnlessNobody(t)
	fx := newFixture(t, oldText)
	// A leftover of another user that the directory's mode keeps from being removed.
	leftover := ".fettle-part-0123456789abcdef"
	require.NoError(t, os.WriteFile(filepath.Join(fx.path, leftover), nil, 0o600))
	require.NoError(t, os.Chmod(fx.path, 0o555))
	defer os.Chmod(fx.path, 0o755)
	requireInPlace(t, fx)
	require.Contains(t, fx.names(), leftover)

	fx.file += ".new"
	_, err := New(Options{RecoveryDir: t.TempDir()}).Commit(t.Context(), fx.request("", newText))
	requireCode(t, err, fault.PermissionDenied, "")
	require.NoFileExists(t, fx.file)
}

// forbidding is a system that forbids to put a file at a name, and reports it only when it is
// tried.
type forbidding struct {
	system
	err   error
	tried int
}

func (s *forbidding) mayReplace(*os.File, string) error { return nil }

func (s *forbidding) exchange(dir *os.File, a, b string) error {
	s.tried++
	return &os.PathError{Op: "rename", Path: b, Err: s.err}
}

// TestForbiddenLate checks that nothing is left if only the attempt shows that the target cannot be
// replaced.
func TestForbiddenLate(t *testing.T) { // FS-64, FS-65
	for cause, code := range map[error]fault.Code{unix.EPERM: fault.PermissionDenied, unix.EACCES: fault.PermissionDenied, unix.EBUSY: fault.FileWriteFailure} {
		fx := newFixture(t, oldText)
		s := &forbidding{system: kernel{}, err: cause}
		_, err := newOn(s, Options{}).Commit(t.Context(), fx.request(oldText, newText))
		requireCode(t, err, code, "")
		require.ErrorIs(t, err, cause)
		require.Contains(t, fault.As(err).Remedy, "recovery directory")
		require.Equal(t, []string{"target.txt"}, fx.names())
		out, err := newOn(s, Options{RecoveryDir: t.TempDir()}).Commit(t.Context(), fx.request(oldText, newText))
		require.NoError(t, err)
		require.Equal(t, 2, s.tried)
		require.Equal(t, MethodInPlace, out.Method)
		require.Equal(t, newText, fx.content())
		require.Equal(t, []string{"target.txt"}, fx.names())
	}
}

const mountsVar = "FETTLE_COMMIT_MOUNTS"

// TestMountedFile uses a single file that is mounted over another one, as in a container.
func TestMountedFile(t *testing.T) { // FS-64
	if os.Getenv(mountsVar) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestMountedFile$", "-test.v")
		cmd.Env = append(os.Environ(), mountsVar+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), "--- SKIP") || err != nil && len(out) == 0 {
			t.Skipf("no mounts here: %v %s", err, out)
		}
		require.NoError(t, err, "%s", out)
		return
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Skip("mounts cannot be private here:", err)
	}
	mount := func(t *testing.T) *fixture {
		fx := newFixture(t, "below the mount\n")
		source := filepath.Join(t.TempDir(), "source")
		require.NoError(t, os.WriteFile(source, []byte(oldText), 0o640))
		if err := unix.Mount(source, fx.file, "", unix.MS_BIND, ""); err != nil {
			t.Skip("a file cannot be mounted here:", err)
		}
		t.Cleanup(func() { require.NoError(t, unix.Unmount(fx.file, 0)) })
		return fx
	}
	t.Run("in place", func(t *testing.T) { requireInPlace(t, mount(t)) })
	t.Run("without a recovery directory", func(t *testing.T) {
		fx := mount(t)
		_, err := New(Options{}).Commit(t.Context(), fx.request(oldText, newText))
		requireCode(t, err, fault.FileWriteFailure, "")
		require.Contains(t, fault.As(err).Message, "mounted")
		require.Equal(t, oldText, fx.content())
		require.Equal(t, []string{"target.txt"}, fx.names())
	})
	t.Run("found when it is tried", func(t *testing.T) {
		fx := mount(t)
		s := &unforeseen{kernel{}}
		out, err := newOn(s, Options{RecoveryDir: t.TempDir()}).Commit(t.Context(), fx.request(oldText, newText))
		require.NoError(t, err)
		require.Equal(t, MethodInPlace, out.Method)
		require.Equal(t, newText, fx.content())
		require.Equal(t, []string{"target.txt"}, fx.names())
	})
}

// unforeseen is a kernel that does not report mounts.
type unforeseen struct{ system }

func (unforeseen) mayReplace(*os.File, string) error { return nil }
