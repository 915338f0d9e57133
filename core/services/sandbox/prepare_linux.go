//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"unsafe"

	"golang.org/x/sys/unix"
)

// joining is the step that fails if the namespaces of the session are gone.
const joining = "join the session's namespaces"

// atCWD is AT_FDCWD as an argument of a system call.
const atCWD = ^uintptr(99) // -100

// keptCapabilities are the capabilities that a command of root keeps, in its nested namespace: those over
// files that it sees and may write, and over its own IDs.
const keptCapabilities = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID |
	1<<unix.CAP_KILL | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID

// prepare adds the steps of a command's child. release frees what the program refers to; it is
// called after the run.
func (s *Session) prepare(p *program, k *keeper, cmd *exec.Cmd, r Rules) (release func(), err error) {
	var opened []func()
	free := func() {
		for _, f := range opened {
			f()
		}
	}
	defer func() {
		if err != nil {
			free()
		}
	}()
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	if len(cmd.ExtraFiles) > 0 {
		return nil, &Error{Step: "start " + cmd.Path, Err: errors.New("extra files are not supported")}
	}
	files, err := stdio(cmd)
	if err != nil {
		return nil, err
	}
	ruleset, access := -1, uint64(0)
	if r.Ruleset != nil {
		fd, rights, done, err := r.Ruleset()
		if err != nil {
			return nil, err
		}
		ruleset, access = fd, rights
		opened = append(opened, done)
	}

	flags := uintptr(unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWIPC)
	if !s.o.Network {
		flags |= unix.CLONE_NEWNET
	}
	p.call(joining, unix.SYS_SETNS, uintptr(k.outer), flags) //nolint:gosec // a descriptor
	p.call(joining, opFork)
	opened = append(opened, p.release)
	if err := s.mounts(p, cmd, r, files[0]); err != nil {
		return nil, err
	}
	if ruleset >= 0 {
		p.allow(ruleset, "/dev/pts", access)
		for _, o := range r.Overlays {
			if !r.ReadOnly {
				p.allow(ruleset, o.Dir, access)
			}
		}
	}
	p.call("enter "+cmd.Dir, unix.SYS_CHDIR, p.text(cmd.Dir))
	p.call("enter the nested namespace", unix.SYS_SETNS, k.nested.Fd(), unix.CLONE_NEWUSER)
	p.call("renounce new privileges", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	for capability := range uintptr(unix.CAP_LAST_CAP + 1) {
		if keptCapabilities&(1<<capability) == 0 {
			p.call("drop a capability", unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, capability).optional(unix.EINVAL) // an old kernel does not know it
		}
	}
	if ruleset >= 0 {
		p.call("landlock", unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0) //nolint:gosec // a descriptor
	}
	if a := cmd.SysProcAttr; a != nil && a.Setsid {
		p.call("start a session", unix.SYS_SETSID)
	}
	p.call("", opSignals) // signals of terminals do not stop the leader of a new session
	p.pass(files)
	if a := cmd.SysProcAttr; a != nil && a.Setctty {
		p.call("set the terminal", unix.SYS_IOCTL, uintptr(a.Ctty), unix.TIOCSCTTY, 1) //nolint:gosec // a descriptor
	}
	p.call("set limits", unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, address(p, &k.files), 0)
	filter := seccompFilter(r.ReadOnly)
	fprog := &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]} //nolint:gosec // a few dozen
	p.call("seccomp", unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, address(p, fprog))
	p.call("execute "+cmd.Path, unix.SYS_EXECVE, p.text(cmd.Path), p.list(cmd.Args), p.list(cmd.Environ()))
	return free, nil
}

// stdio returns the files that become descriptors 0, 1 and 2; nil is the null device.
func stdio(cmd *exec.Cmd) (files [3]*os.File, err error) {
	for i, v := range []any{cmd.Stdin, cmd.Stdout, cmd.Stderr} {
		f, ok := v.(*os.File)
		if !ok && v != nil {
			return files, &Error{Step: "start " + cmd.Path, Err: errors.New("its input and outputs must be files")}
		}
		files[i] = f
	}
	return files, nil
}

// pass turns the files into the descriptors 0, 1 and 2. All others close when the command is
// executed. nil is the null device in the command's mounts, because a command of root could change
// the mode of the machine's.
func (p *program) pass(files [3]*os.File) {
	var moved [3]int
	const above = 16 // descriptors that do not collide with the final ones
	for i, f := range files {
		moved[i] = p.slot()
		if f == nil {
			null := p.slot()
			p.call("open "+os.DevNull, unix.SYS_OPENAT, atCWD, p.text(os.DevNull), unix.O_RDWR|unix.O_CLOEXEC).to(null)
			p.call("pass a file", unix.SYS_FCNTL, 0, unix.F_DUPFD_CLOEXEC, above).from(null).to(moved[i])
			continue
		}
		p.call("pass a file", unix.SYS_FCNTL, f.Fd(), unix.F_DUPFD_CLOEXEC, above).to(moved[i])
	}
	for i := range moved {
		p.call("pass a file", unix.SYS_DUP3, 0, uintptr(i), 0).from(moved[i])
	}
	p.call("close descriptors", unix.SYS_CLOSE_RANGE, 3, uintptr(^uint32(0)), unix.CLOSE_RANGE_CLOEXEC)
}

// allow adds a directory that the command's mounts show to a ruleset.
func (p *program) allow(ruleset int, path string, access uint64) {
	rule := &unix.LandlockPathBeneathAttr{Allowed_access: access}
	fd := p.slot()
	p.call("open "+path, unix.SYS_OPENAT, atCWD, p.text(path), unix.O_PATH|unix.O_CLOEXEC).to(fd)
	store := p.call("", opStore)
	store.arg, store.mem = fd, &rule.Parent_fd
	p.keep = append(p.keep, rule)
	p.call("landlock", unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(rule))) //nolint:gosec // a descriptor
	p.call("close "+path, unix.SYS_CLOSE).from(fd)
}
