//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Session starts confined commands. It is safe for concurrent use. The zero value is not valid; New
// returns one. A Session that has started a command must be closed.
type Session struct {
	o Options

	mu     sync.Mutex
	keeper *keeper // nil before the first command
}

// New returns a Session. It starts nothing.
func New(o Options) *Session { return &Session{o: o} }

// Start starts a command. It supports the fields Path, Args, Env, Dir, Stdin, Stdout and Stderr,
// which must be files, and Setsid and Setctty of SysProcAttr. It sets cmd.Process, so that cmd.Wait
// waits for the command.
//
// The error is an [Error] if a step failed; then nothing was started.
func (s *Session) Start(cmd *exec.Cmd, r Rules) error {
	err := s.start(cmd, r)
	if e := (*Error)(nil); errors.As(err, &e) && e.Step == joining {
		s.end() // the namespaces are gone, because their first process was killed
		err = s.start(cmd, r)
	}
	return err
}

func (s *Session) start(cmd *exec.Cmd, r Rules) error {
	k, err := s.namespaces()
	if err != nil {
		return err
	}
	p := new(program)
	release, err := s.prepare(p, k, cmd, r)
	if err != nil {
		return err
	}
	defer release()
	pid, err := p.run()
	if err != nil {
		return err
	}
	cmd.Process, err = os.FindProcess(pid)
	return err
}

// Busy reports whether processes run that ended commands have left behind.
func (s *Session) Busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keeper == nil {
		return false
	}
	pid := strconv.Itoa(s.keeper.cmd.Process.Pid) // the parent of processes whose own one has ended
	children, err := os.ReadFile("/proc/" + pid + "/task/" + pid + "/children")
	return err != nil || len(children) > 0
}

// Close ends every process of the Session and waits for them.
func (s *Session) Close() { s.end() }

func (s *Session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keeper != nil {
		s.keeper.end()
		s.keeper = nil
	}
}

// namespaces returns the namespaces of the Session, and creates them if necessary.
func (s *Session) namespaces() (*keeper, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keeper == nil {
		k, err := newKeeper(s.o.Network)
		if err != nil {
			return nil, err
		}
		s.keeper = k
	}
	return s.keeper, nil
}

// keeper keeps the namespaces of a Session alive. Its process is the first of the process
// namespace, and waits for the end of its input: for the end of this process at the latest. All
// other processes of the namespace end with it.
type keeper struct {
	cmd    *exec.Cmd
	stdin  *os.File // the write end
	outer  int      // refers to the process, and so to its namespaces
	nested *os.File // the user namespace of commands
	files  unix.Rlimit
}

// idle is the command line of a process that does nothing until its input ends. It ignores the
// signal about ended children, so that orphans which it inherits do not remain.
const idle = "trap '' CHLD; read x"

const shell = "/bin/sh"

func newKeeper(network bool) (k *keeper, err error) {
	flags := uintptr(unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWIPC)
	if !network {
		flags |= unix.CLONE_NEWNET
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, &Error{Step: "create namespaces", Err: err}
	}
	defer r.Close() //nolint:errcheck // nothing was written here
	k = &keeper{stdin: w, outer: -1}
	defer func() {
		if err != nil {
			k.end()
		}
	}()
	uids, gids, all := mappings()
	cmd := exec.Command(shell, "-c", idle) //nolint:noctx // ends with its input
	cmd.Env, cmd.Dir, cmd.Stdin = []string{}, "/", r
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: flags, Setsid: true,
		UidMappings: uids, GidMappings: gids, GidMappingsEnableSetgroups: all,
	}
	if err := cmd.Start(); err != nil {
		return nil, &Error{Step: "create namespaces", Err: err}
	}
	k.cmd = cmd
	if k.outer, err = unix.PidfdOpen(cmd.Process.Pid, 0); err != nil {
		return nil, &Error{Step: "open the namespaces", Err: err}
	}
	if err := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_NOFILE, nil, &k.files); err != nil {
		return nil, &Error{Step: "read limits", Err: err}
	}
	if !network {
		if err := k.loopback(); err != nil {
			return nil, err
		}
	}
	k.nested, err = k.nest(uids, gids)
	return k, err
}

// loopback activates the loopback interface of the network namespace.
func (k *keeper) loopback() error {
	var request struct {
		name  [unix.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}
	copy(request.name[:], "lo")
	request.flags = unix.IFF_UP | unix.IFF_RUNNING
	p := new(program)
	p.call("join the namespaces", unix.SYS_SETNS, uintptr(k.outer), unix.CLONE_NEWUSER|unix.CLONE_NEWNET) //nolint:gosec // a descriptor
	socket := p.slot()
	p.call("open a socket", unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0).to(socket)
	p.call("activate the loopback interface", unix.SYS_IOCTL, 0, unix.SIOCSIFFLAGS, address(p, &request)).from(socket)
	_, err := p.run()
	return err
}

// nest creates the user namespace of commands. Its process can end afterwards: the file keeps the
// namespace.
func (k *keeper) nest(uids, gids []syscall.SysProcIDMap) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, &Error{Step: "create the nested namespace", Err: err}
	}
	defer r.Close() //nolint:errcheck // nothing was written here
	p := new(program)
	p.call("join the namespaces", unix.SYS_SETNS, uintptr(k.outer), unix.CLONE_NEWUSER) //nolint:gosec // a descriptor
	p.call("create the nested namespace", unix.SYS_UNSHARE, unix.CLONE_NEWUSER)
	p.call("", opSignals)
	p.call("pass the input", unix.SYS_DUP3, r.Fd(), 0, 0).optional(unix.EINVAL) // it is descriptor 0 already
	p.closeOthers()
	p.call("execute "+shell, unix.SYS_EXECVE, p.text(shell), p.list([]string{shell, "-c", idle}), p.list(nil))
	pid, err := p.run()
	if err != nil {
		_ = w.Close()
		return nil, err
	}
	defer reap(pid)
	defer w.Close() //nolint:errcheck // nothing was written here
	proc := "/proc/" + strconv.Itoa(pid)
	// The maps are written from the parent namespace, which has the capability for every ID.
	m := new(program)
	m.call("join the namespaces", unix.SYS_SETNS, uintptr(k.outer), unix.CLONE_NEWUSER) //nolint:gosec // a descriptor
	for _, file := range []struct {
		name string
		ids  []syscall.SysProcIDMap
	}{{"gid_map", gids}, {"uid_map", uids}} {
		lines, fd := formatMap(file.ids), m.slot()
		m.call("open "+file.name, unix.SYS_OPENAT, atCWD, m.text(proc+"/"+file.name), unix.O_WRONLY|unix.O_CLOEXEC).to(fd)
		m.call("write "+file.name, unix.SYS_WRITE, 0, m.text(lines), uintptr(len(lines))).from(fd)
	}
	if _, err := m.run(); err != nil {
		return nil, err
	}
	f, err := os.Open(proc + "/ns/user")
	if err != nil {
		return nil, &Error{Step: "open the nested namespace", Err: err}
	}
	return f, nil
}

// end ends the processes and releases the namespaces.
func (k *keeper) end() {
	_ = k.stdin.Close()
	if k.cmd != nil {
		_ = k.cmd.Process.Kill() // its end ends the others; SIGKILL also while it is busy
		_ = k.cmd.Wait()
	}
	if k.outer >= 0 {
		_ = unix.Close(k.outer)
	}
	if k.nested != nil {
		_ = k.nested.Close()
	}
}

// mappings returns maps of user and group IDs to themselves: of all IDs if this process may map
// them, otherwise of its own.
func mappings() (uids, gids []syscall.SysProcIDMap, all bool) {
	if mayMap() {
		uids, gids = allIDs("/proc/self/uid_map"), allIDs("/proc/self/gid_map")
		if len(uids) > 0 && len(gids) > 0 {
			return uids, gids, true
		}
	}
	one := func(id int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
	}
	return one(os.Geteuid()), one(os.Getegid()), false
}

// mayMap reports whether this process has the capabilities to map any ID.
func mayMap() bool {
	const needed = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&header, &data[0]) == nil && data[0].Effective&needed == needed
}

// allIDs returns a map of the IDs in a file such as uid_map to themselves.
func allIDs(file string) (ids []syscall.SysProcIDMap) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return nil
		}
		first, err1 := strconv.Atoi(fields[0])
		size, err2 := strconv.Atoi(fields[2])
		if err1 != nil || err2 != nil {
			return nil
		}
		ids = append(ids, syscall.SysProcIDMap{ContainerID: first, HostID: first, Size: size})
	}
	return ids
}

func formatMap(ids []syscall.SysProcIDMap) string {
	var b strings.Builder
	for _, m := range ids {
		fmt.Fprintf(&b, "%d %d %d\n", m.ContainerID, m.HostID, m.Size)
	}
	return b.String()
}
