//go:build unix && !linux

package process

import (
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// platform is the state of a child on systems without /proc: the leader of a group, which is all
// that is signalled.
type platform struct{ pid int }

// group is the ID of a process group that an ended command left running: it had members when the
// shell ended. The ID is not reused while one of them lives.
type group struct{ pid int }

func (g group) empty() bool { return g.pid == 0 }

func (g group) pids() []int { return nil }

func (c *child) launch(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: c.terminal != nil} // the child's descriptor 0
	if err := c.begin(cmd); err != nil {
		return err
	}
	c.pid = cmd.Process.Pid
	return nil
}

func (p *platform) awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() } // the process state has the details

func (p *platform) terminate() { _ = syscall.Kill(-p.pid, syscall.SIGTERM) } // an error means that no process is left
func (p *platform) kill()      { _ = syscall.Kill(-p.pid, syscall.SIGKILL) }

func (p *platform) lives() bool { return syscall.Kill(-p.pid, 0) == nil }

func (p *platform) beforeFinish() {}

func (p *platform) leftBehind(time.Duration) group {
	if p.lives() {
		return group{p.pid}
	}
	return group{}
}

func (p *platform) reap(cmd *exec.Cmd) Exit { return exitOf(cmd.ProcessState) }

func exitOf(state *os.ProcessState) Exit {
	if state == nil {
		return Exit{Code: -1}
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return Exit{Code: -1, Signal: unix.SignalName(status.Signal())}
	}
	return Exit{Code: state.ExitCode()}
}

// endLeft ends the process groups that commands have left running.
func endLeft(left []group, _ string, grace time.Duration) {
	var living []*platform
	for _, g := range left {
		if p := (&platform{g.pid}); p.lives() {
			living = append(living, p)
		}
	}
	if grace >= 0 {
		for _, p := range living {
			p.terminate()
		}
	}
	const step = 5 * time.Millisecond
	again := time.NewTicker(step)
	defer again.Stop()
	for end := time.Now().Add(grace); time.Now().Before(end) && anyLives(living); {
		<-again.C
	}
	for _, p := range living {
		p.kill()
	}
}

func anyLives(all []*platform) bool {
	for _, p := range all {
		if p.lives() {
			return true
		}
	}
	return false
}
