package process

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// platform is the Linux state of a child: the leader of its own session. It is reaped last, so that
// its process ID is not reused before everything is settled.
type platform struct {
	pid  int
	mark []byte // the child's cookie
}

// group is the set of processes that an ended command left running.
type group struct{ members []member }

// member is a process. Its start time is kept because its ID may be reused once it has ended.
type member struct {
	pid   int
	start uint64 // in ticks since boot
}

func (g group) empty() bool { return len(g.members) == 0 }

func (g group) pids() []int {
	var pids []int
	for _, m := range g.members {
		pids = append(pids, m.pid)
	}
	return pids
}

// launch starts the shell in a session of its own, which forms one process group. It has either its
// own terminal or no controlling terminal, so that no program can prompt on the user's.
func (c *child) launch(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: c.terminal != nil} // the child's descriptor 0
	if err := c.begin(cmd); err != nil {
		return err
	}
	c.pid, c.mark = cmd.Process.Pid, []byte(c.cookie)
	return nil
}

// awaitExit returns when the shell has ended.
func (p *platform) awaitExit(*exec.Cmd) {
	_, _ = uninterrupted(func() (int, error) {
		return 0, unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	})
}

// uninterrupted repeats a system call that a signal interrupted.
func uninterrupted(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

func (p *platform) terminate() { p.signal(syscall.SIGTERM) }
func (p *platform) kill()      { p.signal(syscall.SIGKILL) }

func (p *platform) signal(sig syscall.Signal) {
	_ = syscall.Kill(-p.pid, sig) // an error means that no process is left
	signalAll(find(p.belongs, everyPID()), sig)
}

// lives reports whether any process of the command is still running.
func (p *platform) lives() bool { return len(find(p.belongs, everyPID())) > 0 }

func (p *platform) beforeFinish() {}

// leftBehind returns the processes that a shell which ran for the given time has left running.
// After a short run it inspects only the process IDs allocated since, often none. Processes that
// are about to end, such as those that a terminal has hung up on, are not included.
func (p *platform) leftBehind(ran time.Duration) group {
	const short, few = time.Second, 50 // within this time process IDs do not wrap around
	last, known := lastPID()
	if !known || ran > short || last < p.pid || last-p.pid > few {
		return group{find(p.stays, everyPID())}
	}
	var since []int
	for pid := p.pid + 1; pid <= last; pid++ {
		if isProcess(pid) {
			since = append(since, pid)
		}
	}
	return group{find(p.stays, since)}
}

// isProcess reports whether an ID is that of a process, rather than of a thread or unused.
func isProcess(pid int) bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(status, []byte("\nTgid:"))
	number, _, _ := bytes.Cut(rest, []byte("\n"))
	return string(bytes.TrimSpace(number)) == strconv.Itoa(pid)
}

// lastPID returns the process ID allocated last.
func lastPID() (int, bool) {
	text, err := os.ReadFile("/proc/sys/kernel/ns_last_pid")
	if err != nil {
		return 0, false
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	return pid, err == nil
}

// reap releases the shell's process ID. No signal is sent afterwards.
func (p *platform) reap(cmd *exec.Cmd) Exit {
	_ = cmd.Wait() // the process state has the details
	return exitOf(cmd.ProcessState)
}

func exitOf(state *os.ProcessState) Exit {
	if state == nil {
		return Exit{Code: -1}
	}
	status, ok := state.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return Exit{Code: -1, Signal: unix.SignalName(status.Signal())}
	}
	return Exit{Code: state.ExitCode()}
}

// belongs reports whether a process is in the shell's session or has its mark in its environment.
func (p *platform) belongs(pid, session int) bool { return session == p.pid || marked(pid, p.mark) }

// stays reports whether a process belongs to the command and has not begun to exit.
func (p *platform) stays(pid, session int) bool {
	const exiting = 0x4 // PF_EXITING
	fields := statOf(pid)
	if fields == nil || !p.belongs(pid, session) {
		return false
	}
	flags, err := strconv.ParseUint(string(fields[6]), 10, 64)
	return err == nil && flags&exiting == 0
}

// find returns the living processes among the given IDs that belong, by ID and session, in order.
// It never includes this process.
func find(belongs func(pid, session int) bool, pids []int) []member {
	self := os.Getpid()
	var found []member
	for _, pid := range pids {
		if pid == self {
			continue
		}
		m, session, ok := inspect(pid)
		if ok && belongs(pid, session) {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b member) int { return a.pid - b.pid })
	return found
}

// everyPID returns the IDs of all processes.
func everyPID() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close() //nolint:errcheck // read only
	names, _ := dir.Readdirnames(-1)
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// inspect returns a living process and its session.
func inspect(pid int) (m member, session int, ok bool) {
	fields := statOf(pid)
	if fields == nil || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return member{}, 0, false
	}
	session, err1 := strconv.Atoi(string(fields[3]))
	start, err2 := strconv.ParseUint(string(fields[19]), 10, 64)
	return member{pid, start}, session, err1 == nil && err2 == nil
}

// statOf returns the fields of /proc/PID/stat from the state on: state ppid pgrp session tty tpgid
// flags …; the 20th is starttime. It returns nil if there is no such process.
func statOf(pid int) [][]byte {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the name, in parentheses, may contain any bytes
	if len(fields) < 20 {
		return nil
	}
	return fields
}

// environOf returns the environment of a process; empty for a process of another user. During an
// execve the kernel shows a truncated or empty environment, so environOf reads again until it is
// complete.
func environOf(pid int) []byte {
	const enough = time.Second // an execve takes a while on a busy machine; the limit is for processes that never show a complete environment
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err != nil || isEnviron(statOf(pid), len(environ)) || time.Since(begun) > enough || hidesPlaces() {
			return environ
		}
	}
}

// isEnviron reports whether n bytes are the whole environment of a process with these fields of
// statOf. It also reports true for processes without an environment: exiting ones and kernel
// threads. An execve publishes the address of the environment before that of the code.
func isEnviron(fields [][]byte, n int) bool {
	const without = 0x4 | 0x200000 // PF_EXITING | PF_KTHREAD
	const flags, code, start, end, count = 6, 23, 47, 48, 49
	if len(fields) < count {
		return true
	}
	var v [count]uint64
	for _, at := range []int{flags, code, start, end} {
		var err error
		if v[at], err = strconv.ParseUint(string(fields[at]), 10, 64); err != nil {
			return true
		}
	}
	return v[flags]&without != 0 || v[code] > 0 && v[end]-v[start] == uint64(n)
}

// hidesPlaces reports whether the kernel hides from a process even the address of its own
// environment.
func hidesPlaces() bool {
	environ, _ := os.ReadFile("/proc/self/environ")
	return !isEnviron(statOf(os.Getpid()), len(environ))
}

// marked reports whether a process has mark in its environment. Processes of other users show no
// environment.
func marked(pid int, mark []byte) bool {
	environ := environOf(pid)
	for at := bytes.Index(environ, mark); at >= 0; at = bytes.Index(environ, mark) {
		environ = environ[at+len(mark):]
		if len(environ) == 0 || environ[0] < '0' || environ[0] > '9' { // not the mark of a later command, which has it as a prefix
			return true
		}
	}
	return false
}

// signalAll signals processes, but not others that have reused their IDs.
func signalAll(members []member, sig syscall.Signal) {
	for _, m := range members {
		p, err := os.FindProcess(m.pid) // refers to the process that has the ID now
		if err != nil {
			continue
		}
		if now, _, ok := inspect(m.pid); ok && now == m {
			_ = p.Signal(sig)
		}
		_ = p.Release()
	}
}

// endLeft ends the processes that commands have left running, and every other process that has the
// token in its environment.
func endLeft(left []group, token string, grace time.Duration) {
	known := make(map[member]bool)
	for _, g := range left {
		for _, m := range g.members {
			known[m] = true
		}
	}
	mark := []byte(token)
	living := func() []member {
		return find(func(pid, _ int) bool {
			m, _, ok := inspect(pid)
			return ok && known[m] || hasToken(pid, mark)
		}, everyPID())
	}
	members := living()
	if len(members) == 0 {
		return
	}
	if grace >= 0 {
		signalAll(members, syscall.SIGTERM)
	}
	const killing, step = 5 * time.Second, 5 * time.Millisecond
	begun := time.Now()
	again := time.NewTicker(step)
	defer again.Stop()
	for time.Since(begun) < max(grace, 0)+killing {
		if members = living(); len(members) == 0 {
			return
		}
		if time.Since(begun) >= grace {
			signalAll(members, syscall.SIGKILL)
		}
		<-again.C
	}
}

func hasToken(pid int, token []byte) bool {
	return bytes.Contains(environOf(pid), token)
}
