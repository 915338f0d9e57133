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
	// limit returns the limit of open files of commands.
	limit func() (unix.Rlimit, error)

	mu     sync.Mutex
	keeper *keeper // nil before the first command
}

// New returns a Session. It starts nothing.
func New(o Options) *Session { return &Session{o: o, limit: fileLimit} }

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
	pid := strconv.Itoa(s.keeper.pid) // it inherits the processes whose parent has ended
	children, err := os.ReadFile("/proc/" + pid + "/task/" + pid + "/children")
	return err != nil || len(children) > 0
}

// PID returns the ID by which a process knows itself in its own process namespace, or pid if the
// process has ended.
func PID(pid int) int {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return pid
	}
	_, rest, _ := strings.Cut(string(status), "\nNSpid:")
	line, _, _ := strings.Cut(rest, "\n")
	if ids := strings.Fields(line); len(ids) > 0 {
		if inner, err := strconv.Atoi(ids[len(ids)-1]); err == nil {
			return inner
		}
	}
	return pid
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
		k, err := newKeeper(s.o.Network, s.limit)
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
	pid    int
	stdin  *os.File // the write end
	outer  int      // refers to the process, and so to its namespaces
	nested *os.File // the user namespace of commands
	files  unix.Rlimit
}

// idlePaths are the places of the program that does nothing until its input ends.
var idlePaths = [...]string{"/bin/cat", "/usr/bin/cat", "/run/current-system/sw/bin/cat"}

func newKeeper(network bool, limit func() (unix.Rlimit, error)) (k *keeper, err error) {
	flags := uintptr(unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWIPC)
	if !network {
		flags |= unix.CLONE_NEWNET
	}
	k = &keeper{outer: -1}
	if k.files, err = limit(); err != nil {
		return nil, err
	}
	p := new(program)
	p.call("create namespaces", unix.SYS_UNSHARE, flags)
	p.call("create namespaces", opFork) // the first process of the process namespace
	if k.pid, k.stdin, err = p.idle(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			k.end()
		}
	}()
	if k.outer, err = unix.PidfdOpen(k.pid, 0); err != nil {
		return nil, &Error{Step: "open the namespaces", Err: err}
	}
	proc := "/proc/" + strconv.Itoa(k.pid) + "/"
	uids, gids, all := mappings()
	if !all {
		if err := os.WriteFile(proc+"setgroups", []byte("deny"), 0); err != nil {
			return nil, &Error{Step: "map users", Err: err}
		}
	}
	for name, ids := range map[string]string{"uid_map": uids, "gid_map": gids} {
		if err := os.WriteFile(proc+name, []byte(ids), 0); err != nil {
			return nil, &Error{Step: "map users", Err: err}
		}
	}
	if !network {
		if err := k.loopback(); err != nil {
			return nil, err
		}
	}
	k.nested, err = k.nest(uids, gids)
	return k, err
}

// idle runs the program in a process that does nothing until the returned file is closed. The process
// ignores SIGCHLD, so that orphans which it inherits do not become zombies.
func (p *program) idle() (pid int, stdin *os.File, err error) {
	path := idlePaths[0]
	for _, path = range idlePaths {
		if _, err = os.Stat(path); err == nil {
			break
		}
	}
	if err != nil {
		return 0, nil, &Error{Step: "find cat", Err: err}
	}
	r, w, err := os.Pipe()
	if err != nil {
		return 0, nil, &Error{Step: "create a pipe", Err: err}
	}
	defer r.Close() //nolint:errcheck // nothing was written here
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		_ = w.Close()
		return 0, nil, &Error{Step: "open " + os.DevNull, Err: err}
	}
	defer null.Close() //nolint:errcheck // nothing was written
	p.call("", opSignals)
	ignore := &struct{ handler, flags, restorer, mask uintptr }{handler: 1} // SIG_IGN
	p.call("ignore a signal", unix.SYS_RT_SIGACTION, uintptr(unix.SIGCHLD), address(p, ignore), 0, 8)
	p.call("start a session", unix.SYS_SETSID)
	p.call("enter /", unix.SYS_CHDIR, p.text("/"))
	p.pass([3]*os.File{r, null, null})
	p.call("execute "+path, unix.SYS_EXECVE, p.text(path), p.list([]string{path}), p.list(nil))
	if pid, err = p.run(); err != nil {
		_ = w.Close()
		return 0, nil, err
	}
	return pid, w, nil
}

// fileLimit returns the limit of open files that programs inherit. It differs from that of this
// process, which the runtime has raised.
func fileLimit() (l unix.Rlimit, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return l, &Error{Step: "create a pipe", Err: err}
	}
	defer r.Close()                            //nolint:errcheck // nothing was written here
	cmd := exec.Command(shell, "-c", "read x") //nolint:noctx // ends with its input
	cmd.Stdin = r
	if err := cmd.Start(); err != nil {
		_ = w.Close()
		return l, &Error{Step: "read limits", Err: err}
	}
	err = unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_NOFILE, nil, &l)
	_ = w.Close()
	_ = cmd.Wait() // it fails at the end of its input
	if err != nil {
		return l, &Error{Step: "read limits", Err: err}
	}
	return l, nil
}

const shell = "/bin/sh"

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
func (k *keeper) nest(uids, gids string) (*os.File, error) {
	p := new(program)
	p.call("join the namespaces", unix.SYS_SETNS, uintptr(k.outer), unix.CLONE_NEWUSER) //nolint:gosec // a descriptor
	p.call("create the nested namespace", unix.SYS_UNSHARE, unix.CLONE_NEWUSER)
	pid, stdin, err := p.idle()
	if err != nil {
		return nil, err
	}
	defer reap(pid)
	defer stdin.Close() //nolint:errcheck // nothing was written here
	proc := "/proc/" + strconv.Itoa(pid)
	// The maps are written from the parent namespace, which has the capability for every ID.
	m := new(program)
	m.call("join the namespaces", unix.SYS_SETNS, uintptr(k.outer), unix.CLONE_NEWUSER) //nolint:gosec // a descriptor
	for _, file := range []struct{ name, ids string }{{"gid_map", gids}, {"uid_map", uids}} {
		fd := m.slot()
		m.call("open "+file.name, unix.SYS_OPENAT, atCWD, m.text(proc+"/"+file.name), unix.O_WRONLY|unix.O_CLOEXEC).to(fd)
		m.call("write "+file.name, unix.SYS_WRITE, 0, m.text(file.ids), uintptr(len(file.ids))).from(fd)
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
	_ = syscall.Kill(k.pid, syscall.SIGKILL) // the kernel then ends the others
	reap(k.pid)
	if k.outer >= 0 {
		_ = unix.Close(k.outer)
	}
	if k.nested != nil {
		_ = k.nested.Close()
	}
}

// mappings returns maps of user and group IDs to themselves: of all IDs if this process may map
// them, otherwise of its own.
func mappings() (uids, gids string, all bool) {
	if mayMap() {
		uids, gids = allIDs("/proc/self/uid_map"), allIDs("/proc/self/gid_map")
		if uids != "" && gids != "" {
			return uids, gids, true
		}
	}
	return fmt.Sprintf("%d %[1]d 1\n", os.Geteuid()), fmt.Sprintf("%d %[1]d 1\n", os.Getegid()), false
}

// mayMap reports whether this process has the capabilities to map any ID.
func mayMap() bool {
	const needed = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&header, &data[0]) == nil && data[0].Effective&needed == needed
}

// allIDs returns a map of the IDs in a file such as uid_map to themselves; "" if it is invalid.
func allIDs(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return ""
		}
		fmt.Fprintf(&b, "%s %[1]s %s\n", fields[0], fields[2])
	}
	return b.String()
}
