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

// platform is what a child is on Linux: the leader of a session of its own,
// which is not reaped before all is settled, so that its number stays taken.
type platform struct {
	pid  int
	mark []byte // the child's cookie
}

// group is what an ended command left running.
type group struct{ members []member }

// member is a process; its number alone may be given away once it has ended.
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

// launch starts the shell in a session of its own: one group that holds what
// it starts, and either a terminal of its own or none that something could ask
// at.
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

// uninterrupted repeats a system call that a signal ended early.
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
	_ = syscall.Kill(-p.pid, sig) // nobody left is well
	signalAll(find(p.belongs, everyPID()), sig)
}

// lives reports whether something still runs that belongs to the command.
func (p *platform) lives() bool { return len(find(p.belongs, everyPID())) > 0 }

func (p *platform) beforeFinish() {}

// leftBehind returns what a shell that ran for so long has left running. After
// a short run it looks only at the numbers given out since, which for the
// shortest commands are none. What is about to be gone, as whatever a terminal
// has hung up on, is not left.
func (p *platform) leftBehind(ran time.Duration) group {
	const short, few = time.Second, 50 // in short the numbers do not go round
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

// isProcess reports whether a number is that of a process, and not of a thread
// or nobody's.
func isProcess(pid int) bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(status, []byte("\nTgid:"))
	number, _, _ := bytes.Cut(rest, []byte("\n"))
	return string(bytes.TrimSpace(number)) == strconv.Itoa(pid)
}

// lastPID returns the number given out last.
func lastPID() (int, bool) {
	text, err := os.ReadFile("/proc/sys/kernel/ns_last_pid")
	if err != nil {
		return 0, false
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	return pid, err == nil
}

// reap gives the shell's number back. Nothing is signalled afterwards.
func (p *platform) reap(cmd *exec.Cmd) Exit {
	_ = cmd.Wait() // the state says more
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

// belongs reports whether a process is in the shell's session or has its mark
// in its environment.
func (p *platform) belongs(pid, session int) bool { return session == p.pid || marked(pid, p.mark) }

// stays reports whether a process belongs and has not begun to end.
func (p *platform) stays(pid, session int) bool {
	const exiting = 0x4 // PF_EXITING
	fields := statOf(pid)
	if fields == nil || !p.belongs(pid, session) {
		return false
	}
	flags, err := strconv.ParseUint(string(fields[6]), 10, 64)
	return err == nil && flags&exiting == 0
}

// find returns the living processes that belong, by number and session, of
// those with the given numbers, in order. This process is none of them.
func find(belongs func(pid, session int) bool, pids []int) []member {
	self := os.Getpid()
	var found []member
	for _, pid := range pids {
		if pid == self {
			continue
		}
		m, session, ok := look(pid)
		if ok && belongs(pid, session) {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b member) int { return a.pid - b.pid })
	return found
}

// everyPID returns the numbers of all processes.
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

// look returns a living process and its session.
func look(pid int) (m member, session int, ok bool) {
	fields := statOf(pid)
	if fields == nil || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return member{}, 0, false
	}
	session, err1 := strconv.Atoi(string(fields[3]))
	start, err2 := strconv.ParseUint(string(fields[19]), 10, 64)
	return member{pid, start}, session, err1 == nil && err2 == nil
}

// statOf returns what the kernel tells of a process, from its state on: state
// ppid pgrp session tty tpgid flags …, the 20th is starttime. nil: there is no
// such process.
func statOf(pid int) [][]byte {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the name, in brackets, may hold anything
	if len(fields) < 20 {
		return nil
	}
	return fields
}

// environOf returns the environment of a process, nothing of one of another
// user. What is read of a process that is in the middle of an execve is cut off
// or empty; it is asked again until it shows all of the one it has now.
func environOf(pid int) []byte {
	const enough = time.Second // a busy machine holds one up there for a while; the limit is for what never shows more
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err != nil || isEnviron(statOf(pid), len(environ)) || time.Since(begun) > enough || hidesPlaces() {
			return environ
		}
	}
}

// isEnviron reports whether a process of which the kernel tells this, see statOf,
// has an environment of n bytes, or is one that has none: it ends, or is the
// kernel's. An execve says where the environment is before it says where the code
// is.
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

// hidesPlaces reports whether the kernel does not even tell a process of itself where
// its environment is.
func hidesPlaces() bool {
	environ, _ := os.ReadFile("/proc/self/environ")
	return !isEnviron(statOf(os.Getpid()), len(environ))
}

// marked reports whether a process has mark in its environment. Those of other
// users show nothing.
func marked(pid int, mark []byte) bool {
	environ := environOf(pid)
	for at := bytes.Index(environ, mark); at >= 0; at = bytes.Index(environ, mark) {
		environ = environ[at+len(mark):]
		if len(environ) == 0 || environ[0] < '0' || environ[0] > '9' { // not that of a later command
			return true
		}
	}
	return false
}

// signalAll signals processes, and no others that have got their numbers.
func signalAll(members []member, sig syscall.Signal) {
	for _, m := range members {
		p, err := os.FindProcess(m.pid) // holds on to whoever has the number now
		if err != nil {
			continue
		}
		if now, _, ok := look(m.pid); ok && now == m {
			_ = p.Signal(sig)
		}
		_ = p.Release()
	}
}

// endLeft ends what is still running of what commands have left, and all else
// that has the token in its environment.
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
			m, _, ok := look(pid)
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
