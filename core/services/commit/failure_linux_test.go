package commit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/fault"
)

var errHook = errors.New("refused by the hook")

// noSync skips flushing, for tests that do not need it.
type noSync struct{ system }

func (noSync) sync(*os.File) error { return nil }

// failing is a system that fails one call: the nth of its name.
type failing struct {
	system
	call string
	nth  int
	err  error
}

func (s *failing) fails(call string) error {
	if call != s.call {
		return nil
	}
	if s.nth--; s.nth != 0 {
		return nil
	}
	return &os.PathError{Op: call, Path: "target.txt", Err: s.err}
}

func (s *failing) createUnnamed(dir *os.File, perm fs.FileMode) (*os.File, error) {
	if err := s.fails("create"); err != nil {
		return nil, err
	}
	return s.system.createUnnamed(dir, perm)
}

func (s *failing) createNamed(dir *os.File, name string, perm fs.FileMode) (*os.File, error) {
	if err := s.fails("create"); err != nil {
		return nil, err
	}
	return s.system.createNamed(dir, name, perm)
}

// writeAt writes half of the data before it fails, as on a full disk.
func (s *failing) writeAt(f *os.File, data []byte, offset int64) error {
	if err := s.fails("write"); err != nil {
		return errors.Join(err, s.system.writeAt(f, data[:len(data)/2], offset))
	}
	return s.system.writeAt(f, data, offset)
}

func (s *failing) copyAttributes(dst, src *os.File) error {
	if err := s.fails("attributes"); err != nil {
		return err
	}
	return s.system.copyAttributes(dst, src)
}

func (s *failing) sync(f *os.File) error {
	if err := s.fails("sync"); err != nil {
		return err
	}
	return s.system.sync(f)
}

func (s *failing) linkUnnamed(f, dir *os.File, name string) error {
	if err := s.fails("link"); err != nil {
		return err
	}
	return s.system.linkUnnamed(f, dir, name)
}

func (s *failing) link(dir *os.File, from, to string) error {
	if err := s.fails("link"); err != nil {
		return err
	}
	return s.system.link(dir, from, to)
}

func (s *failing) exchange(dir *os.File, a, b string) error {
	if err := s.fails("rename"); err != nil {
		return err
	}
	return s.system.exchange(dir, a, b)
}

func (s *failing) rename(dir *os.File, from, to string) error {
	if err := s.fails("rename"); err != nil {
		return err
	}
	return s.system.rename(dir, from, to)
}

func (s *failing) renameNoReplace(dir *os.File, from, to string) error {
	if err := s.fails("rename"); err != nil {
		return err
	}
	return s.system.renameNoReplace(dir, from, to)
}

func (s *failing) truncate(f *os.File, size int64) error {
	if err := s.fails("truncate"); err != nil {
		return err
	}
	return s.system.truncate(f, size)
}

// TestFailedCall fails each system call that can fail, with each method: nothing is left, and the
// target is unchanged.
func TestFailedCall(t *testing.T) { // FS-65
	errs := map[error]fault.Code{
		unix.ENOSPC: fault.NoSpaceLeft,
		unix.EDQUOT: fault.NoSpaceLeft,
		unix.EROFS:  fault.PermissionDenied,
		unix.EACCES: fault.PermissionDenied,
		unix.EPERM:  fault.PermissionDenied,
		unix.EIO:    fault.FileWriteFailure,
		unix.EBUSY:  fault.FileWriteFailure,
	}
	ways := map[string]struct {
		system system
		base   string
		links  bool
	}{
		"exchange":       {noSync{kernel{}}, oldText, false},
		"exchange named": {noSync{noUnnamed{kernel{}}}, oldText, false},
		"link":           {noSync{methods[MethodLink]}, oldText, false},
		"rename":         {noSync{methods[MethodRename]}, oldText, false},
		"create":         {noSync{kernel{}}, "", false},
		"create named":   {noSync{noUnnamed{kernel{}}}, "", false},
		"in place":       {noSync{kernel{}}, oldText, true},
	}
	refusals := map[string]bool{"create": true, "link": true, "rename": true}
	for way, w := range ways {
		for _, call := range []string{"create", "write", "attributes", "sync", "link", "rename", "truncate"} {
			for cause, code := range errs {
				for nth := 1; nth < 9; nth++ {
					fx := newFixture(t, w.base)
					if w.links {
						require.NoError(t, os.Link(fx.file, fx.file+" 2"))
					}
					before := fx.names()
					recovery := t.TempDir()
					s := &failing{system: w.system, call: call, nth: nth, err: cause}
					_, err := newOn(s, Options{RecoveryDir: recovery, Settle: -1}).Commit(t.Context(), fx.request(w.base, newText))
					if s.nth > 0 {
						require.NoError(t, err)
						break // it makes fewer of these calls
					}
					name := fmt.Sprintf("%s: %s %d: %v", way, call, nth, cause)
					if way == "rename" && call == "sync" && nth == 2 {
						require.NoError(t, err, name) // a rename cannot be undone; the directory's flush is only logged
						continue
					}
					if err == nil && w.base != "" && refusals[call] && slices.Contains([]error{unix.EACCES, unix.EPERM, unix.EBUSY}, cause) {
						require.Equal(t, before, fx.names(), name) // the system forbids the name or the owner: rewritten in place
						require.Equal(t, "file: "+newText, fx.state(), name)
						continue
					}
					requireCode(t, err, code, "")
					require.ErrorIs(t, err, cause, name)
					require.NotEmpty(t, fault.As(err).Remedy, name)
					if cause == unix.EIO {
						require.Contains(t, fault.As(err).Message, "failed: input/output error.", name)
					}
					require.Equal(t, before, fx.names(), name)
					if w.base == "" {
						require.Equal(t, "absent", fx.state(), name)
					} else {
						require.Equal(t, "file: "+oldText, fx.state(), name)
					}
					entries, err := os.ReadDir(recovery)
					require.NoError(t, err)
					require.Empty(t, entries, name)
				}
			}
		}
	}
}

// TestFailedStep ends a commit at each step from which it can go back.
func TestFailedStep(t *testing.T) { // FS-58, FS-65
	replacing := []Step{StepLocked, StepChecked, StepTempWritten, StepTempLinked, StepRechecked, StepExchanged, StepVerified, StepSynced}
	for way, steps := range map[string][]Step{
		"exchange": replacing,
		"link":     replacing,
		"rename":   {StepLocked, StepChecked, StepTempWritten, StepTempLinked, StepRechecked},
		"create":   {StepLocked, StepTempWritten, StepExchanged, StepSynced},
		"in place": {StepLocked, StepChecked, StepRecoverySaved, StepInPlaceHalf, StepInPlaceWritten, StepSynced},
	} {
		for _, step := range steps {
			t.Run(way+"/"+string(step), func(t *testing.T) {
				base := oldText
				if way == "create" {
					base = ""
				}
				fx := newFixture(t, base)
				if way == "in place" {
					require.NoError(t, os.Link(fx.file, fx.file+" 2"))
				}
				before, recovery := fx.names(), t.TempDir()
				reached := false
				c := New(Options{RecoveryDir: recovery, Hook: at(step, func() error { reached = true; return errHook })})
				if system, ok := methods[Method(way)]; ok {
					c.system = system
				}
				_, err := c.Commit(t.Context(), fx.request(base, newText))
				require.True(t, reached)
				requireCode(t, err, fault.FileWriteFailure, "")
				require.ErrorIs(t, err, errHook)
				require.Equal(t, before, fx.names())
				if base == "" {
					require.Equal(t, "absent", fx.state())
				} else {
					require.Equal(t, "file: "+oldText, fx.state())
				}
				entries, err := os.ReadDir(recovery)
				require.NoError(t, err)
				require.Empty(t, entries)
			})
		}
	}
}

// recording records which files are flushed and put in place.
type recording struct {
	system
	calls []string
}

func (s *recording) sync(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		s.calls = append(s.calls, "flush directory")
	} else {
		s.calls = append(s.calls, "flush file")
	}
	return s.system.sync(f)
}

func (s *recording) exchange(dir *os.File, a, b string) error {
	s.calls = append(s.calls, "place")
	return s.system.exchange(dir, a, b)
}

func (s *recording) linkUnnamed(f, dir *os.File, name string) error {
	if name == "target.txt" {
		s.calls = append(s.calls, "place")
	}
	return s.system.linkUnnamed(f, dir, name)
}

func (s *recording) remove(dir *os.File, name string) error {
	s.calls = append(s.calls, "remove")
	return s.system.remove(dir, name)
}

// TestFlushes checks that bytes are on disk before they come to the path, and the directory before
// the call returns and the old version is removed.
func TestFlushes(t *testing.T) { // FS-58
	for base, want := range map[string][]string{
		oldText: {"flush file", "place", "flush directory", "remove"},
		"":      {"flush file", "place", "flush directory"},
	} {
		fx := newFixture(t, base)
		s := &recording{system: kernel{}}
		_, err := newOn(s, Options{}).Commit(t.Context(), fx.request(base, newText))
		require.NoError(t, err)
		require.Equal(t, want, s.calls)
	}
}

// TestAttributes checks that mode, owner, extended attributes and ACLs are kept.
func TestAttributes(t *testing.T) { // FS-58, FS-55
	for name, system := range map[string]system{"unnamed": kernel{}, "named": noUnnamed{kernel{}}} {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t, oldText)
			if os.Getuid() == 0 {
				require.NoError(t, os.Chown(fx.file, 1234, 4321))
			}
			require.NoError(t, unix.Chmod(fx.file, 0o6751))
			big := strings.Repeat("value ", 300)
			if err := unix.Setxattr(fx.file, "user.fettle", []byte(big), 0); err != nil {
				t.Skip("no extended attributes here:", err)
			}
			require.NoError(t, unix.Setxattr(fx.file, "user.empty", nil, 0))
			acl := posixACL(0o7, 0o5, 77, 0o4, 0o5, 0o1)
			aclErr := unix.Setxattr(fx.file, accessACL, acl, 0)
			var before, after unix.Stat_t
			require.NoError(t, unix.Stat(fx.file, &before))

			_, err := newOn(system, Options{}).Commit(t.Context(), fx.request(oldText, newText))
			require.NoError(t, err)
			require.NoError(t, unix.Stat(fx.file, &after))
			require.NotEqual(t, before.Ino, after.Ino)
			require.Equal(t, before.Mode, after.Mode)
			require.Equal(t, before.Uid, after.Uid)
			require.Equal(t, before.Gid, after.Gid)
			require.Equal(t, big, xattr(t, fx.file, "user.fettle"))
			require.Equal(t, "", xattr(t, fx.file, "user.empty"))
			if aclErr == nil {
				require.Equal(t, string(acl), xattr(t, fx.file, accessACL))
			}
		})
	}
}

// TestDirectoryACL checks that a directory's default ACL applies to new files, not to replaced
// ones.
func TestDirectoryACL(t *testing.T) { // FS-58
	fx := newFixture(t, oldText)
	require.NoError(t, os.Chmod(fx.file, 0o600))
	if err := unix.Setxattr(fx.path, "system.posix_acl_default", posixACL(0o7, 0o7, 77, 0o7, 0o7, 0), 0); err != nil {
		t.Skip("no ACLs here:", err)
	}
	_, err := New(Options{}).Commit(t.Context(), fx.request(oldText, newText))
	require.NoError(t, err)
	info, err := os.Stat(fx.file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	_, err = unix.Getxattr(fx.file, accessACL, nil)
	require.ErrorIs(t, err, unix.ENODATA)

	fx.file += ".new"
	_, err = New(Options{}).Commit(t.Context(), fx.request("", newText))
	require.NoError(t, err)
	require.NotEmpty(t, xattr(t, fx.file, accessACL))
}

// posixACL encodes an access ACL with one named user.
func posixACL(owner, named uint16, uid uint32, group, mask, other uint16) []byte {
	acl := []byte{2, 0, 0, 0}
	entry := func(tag, perm uint16, id uint32) {
		acl = append(acl, byte(tag), byte(tag>>8), byte(perm), byte(perm>>8), byte(id), byte(id>>8), byte(id>>16), byte(id>>24))
	}
	const nobody = 1<<32 - 1
	entry(0x01, owner, nobody)
	entry(0x02, named, uid)
	entry(0x04, group, nobody)
	entry(0x10, mask, nobody)
	entry(0x20, other, nobody)
	return acl
}

func xattr(t testing.TB, path, name string) string {
	t.Helper()
	buf := make([]byte, 4096)
	n, err := unix.Getxattr(path, name, buf)
	require.NoError(t, err)
	return string(buf[:n])
}

// TestModeOfNewFile checks that the mode is 0666 less the umask.
func TestModeOfNewFile(t *testing.T) { // FS-62
	for name, system := range map[string]system{"unnamed": kernel{}, "named": noUnnamed{kernel{}}} {
		fx := newFixture(t, "")
		old := unix.Umask(0o027)
		_, err := newOn(system, Options{}).Commit(t.Context(), fx.request("", newText))
		unix.Umask(old)
		require.NoError(t, err)
		info, err := os.Stat(fx.file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o640), info.Mode(), name)
	}
}

// TestImmutable checks that the error comes before the rename, which would fail as well.
func TestImmutable(t *testing.T) {
	fx := newFixture(t, oldText)
	f, err := os.Open(fx.file)
	require.NoError(t, err)
	defer f.Close()
	const immutable = 0x10
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, immutable); err != nil {
		t.Skip("cannot make a file immutable here:", err)
	}
	defer unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, 0)
	_, err = New(Options{}).Commit(t.Context(), fx.request(oldText, newText))
	requireCode(t, err, fault.PermissionDenied, "")
	require.Equal(t, oldText, fx.content())
	require.Equal(t, []string{"target.txt"}, fx.names())
}
