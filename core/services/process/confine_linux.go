package process

import (
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/fault"
)

// landlocked starts commands confined by Landlock.
type landlocked struct {
	unconfined
	s    *Service
	read bool // the command may write only in the temporary directory
}

// begin starts a command from a confined thread, because a process inherits the restrictions of the
// thread that starts it. The same thread starts the session's other commands, so that they share
// one scope, and runs nothing else. Other threads are not affected. If a step fails, nothing is
// started.
func (l landlocked) begin(cmd *exec.Cmd) error {
	c := l.s.confinement()
	if err := c.supported(); err != nil {
		return err
	}
	dir, err := l.s.scratch.directory()
	if err != nil {
		return err
	}
	dirs, err := l.s.scratch.writable(c.Writable)
	if err != nil {
		return err
	}
	if l.read {
		dirs = nil
	}
	dirs = append(dirs, dir)
	cmd.Env = append(cmd.Env, temporary(dir)...)
	if cache := variable(cmd.Env, "XDG_CACHE_HOME"); !holds(c.Writable, cmp.Or(cache, filepath.Join(variable(cmd.Env, "HOME"), ".cache"))) {
		cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
	}
	confine := func() error {
		ruleset, err := newRuleset(dirs, "/dev", c.NoTCP)
		if err != nil {
			return err
		}
		defer unix.Close(ruleset) //nolint:errcheck // nothing was written
		if err := restrict(ruleset); err != nil || !c.NoTCP {
			return err
		}
		return refuseTCP()
	}
	var started error
	if err := l.s.domain.run(identities(dirs), confine, func() { started = cmd.Start() }); err != nil {
		return err
	}
	return started
}

// identities lists directories with their device and inode, because a rule applies to a directory,
// not to its path.
func identities(dirs []string) string {
	var b strings.Builder
	for _, directory := range dirs {
		var stat unix.Stat_t
		_ = unix.Stat(directory, &stat) // a missing directory fails later, when its rule is added
		fmt.Fprintf(&b, "%q %d %d\n", directory, stat.Dev, stat.Ino)
	}
	return b.String()
}

// apart runs f on a thread of its own, which ends with f.
func apart(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			apart(f) // the process's first thread would not end, so another one runs f
			runtime.UnlockOSThread()
			return
		}
		f() // without an unlock, the thread ends here
	}()
	<-done
}

// restrict confines the calling thread permanently.
func restrict(ruleset int) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return refused("no new privileges", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
		return refused("landlock", errno)
	}
	return nil
}

func refused(what string, err error) error {
	return fault.Wrap(fault.ShellExecuteError, confining,
		fmt.Sprintf("The command was not started, because the kernel refused to confine it (%s: %v).", what, err),
		"Tell the user that commands cannot be confined here.", err)
}

// Accesses that are denied unless a rule allows them, by the Landlock version that introduced them.
// Reading and executing are not listed, and so stay unrestricted.
const (
	writing = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | devices
	// devices is never allowed by a rule: a device node created in a writable directory could be
	// opened there, and might be the disk.
	devices = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK

	// ofFiles contains the accesses that a rule for a non-directory may allow.
	ofFiles = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// Landlock versions: the first that denies truncation, which is a kind of write, the first with TCP
// rules, and the first with scopes.
const (
	abiTruncate = 3
	abiTCP      = 4
	abiScopes   = 6
)

// attributes returns the accesses that a ruleset handles, as far as the Landlock version supports
// them.
//
// From version 6 on it also denies connections to abstract Unix sockets, and signals, to processes
// outside of the session's commands. One command may end processes that another has left running.
func attributes(abi int, noTCP bool) unix.LandlockRulesetAttr {
	a := unix.LandlockRulesetAttr{Handled_access_fs: writing}
	for _, more := range []struct {
		since  int
		access uint64
	}{
		{2, unix.LANDLOCK_ACCESS_FS_REFER},
		{abiTruncate, unix.LANDLOCK_ACCESS_FS_TRUNCATE},
		{5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
	} {
		if abi >= more.since {
			a.Handled_access_fs |= more.access
		}
	}
	if abi >= abiTCP && noTCP {
		a.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= abiScopes {
		a.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return a
}

// landlockABI returns the Landlock version of the kernel.
func landlockABI() (int, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	return int(abi), nil
}

// supportsLandlock returns an error if the kernel cannot confine commands.
func supportsLandlock(noTCP bool) error {
	abi, err := landlockABI()
	return judgeLandlock(abi, err, noTCP)
}

// judgeLandlock returns an error if a Landlock version is insufficient. err is the reason why there
// is none.
func judgeLandlock(abi int, err error, noTCP bool) error {
	const instead = "Use a newer kernel, confine commands by a container, or do not confine them."
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		return unsupported("Commands cannot be confined: landlock is turned off in this kernel.",
			"Add landlock to the kernel's parameter lsm, confine commands by a container, or do not confine them.")
	case err != nil:
		return unsupported(fmt.Sprintf("Commands cannot be confined: this kernel has no landlock (%v).", err), instead)
	case abi < abiTruncate:
		return unsupported(fmt.Sprintf("Commands cannot be confined: this kernel's landlock, of version %d, "+
			"does not restrict truncating files; that takes version %d, of Linux 6.2.", abi, abiTruncate), instead)
	case noTCP && architectures[runtime.GOARCH] == 0:
		return unsupported("TCP connections cannot be refused on processors of the kind "+runtime.GOARCH+".", "Allow the connections.")
	case noTCP && abi < abiTCP:
		return unsupported(fmt.Sprintf("TCP connections cannot be refused: this kernel's landlock, of version %d, "+
			"does not support TCP rules; that takes version %d, of Linux 6.7.", abi, abiTCP), "Use a newer kernel, or allow the connections.")
	}
	return nil
}

// writableDevices lists the devices that ordinary programs write to. Pseudo-terminals and shared
// memory are left to the user's settings, because they reach other processes.
var writableDevices = [...]string{"null", "zero", "full", "random", "urandom", "tty", "ptmx"}

// newRuleset returns a descriptor of the rules for commands that may write in the given
// directories, whose paths contain no links, and to the devices in dev.
func newRuleset(writable []string, dev string, noTCP bool) (ruleset int, err error) {
	abi, err := landlockABI()
	if err != nil {
		return -1, refused("landlock", err)
	}
	return rulesetOf(attributes(abi, noTCP), writable, dev)
}

func rulesetOf(a unix.LandlockRulesetAttr, writable []string, dev string) (ruleset int, err error) {
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&a)), unsafe.Sizeof(a), 0)
	if errno != 0 {
		return -1, refused("landlock", errno)
	}
	ruleset = int(fd)
	defer func() {
		if err != nil {
			_ = unix.Close(ruleset)
		}
	}()
	allowed := a.Handled_access_fs &^ devices
	for _, directory := range writable {
		if err := allow(ruleset, directory, unix.O_DIRECTORY, allowed); err != nil {
			return -1, badDirectory(directory, err)
		}
	}
	for _, device := range existing(dev) {
		if err := allow(ruleset, device, 0, allowed&ofFiles); err != nil {
			return -1, refused(device, err)
		}
	}
	return ruleset, nil
}

// existing returns the paths of the writable devices in dev, with links resolved: in containers
// ptmx is a link to pts/ptmx. Missing devices, and links that lead out of dev, are skipped.
func existing(dev string) (devices []string) {
	dev, err := filepath.EvalSymlinks(dev)
	if err != nil {
		return nil
	}
	for _, name := range writableDevices {
		device, err := filepath.EvalSymlinks(filepath.Join(dev, name))
		if err == nil && device != dev && holds([]string{dev}, device) {
			devices = append(devices, device)
		}
	}
	return devices
}

// allow adds a rule that allows access to the file that path names now, and to everything below it.
// path contains no links.
func allow(ruleset int, path string, flags uint64, access uint64) error {
	fd, err := uninterrupted(func() (int, error) {
		return unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
			Flags: unix.O_PATH | unix.O_CLOEXEC | flags, Resolve: unix.RESOLVE_NO_SYMLINKS,
		})
	})
	if err != nil {
		return err
	}
	defer unix.Close(fd)                                                               //nolint:errcheck // nothing was written
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)} //nolint:gosec // a descriptor
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// namespaceRuleset returns the Landlock rules of a command in namespaces, which may write in the
// given directories; nil without Landlock. The namespaces already separate signals.
func namespaceRuleset(writable []string) func() (fd int, access uint64, release func(), err error) {
	abi, err := landlockABI()
	if err != nil || abi < abiTruncate {
		return nil
	}
	return func() (int, uint64, func(), error) {
		a := attributes(abi, false)
		a.Scoped &^= unix.LANDLOCK_SCOPE_SIGNAL
		fd, err := rulesetOf(a, writable, "/dev")
		if err != nil {
			return -1, 0, nil, err
		}
		return fd, a.Handled_access_fs &^ devices, func() { _ = unix.Close(fd) }, nil
	}
}
