//go:build unix

package child

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// group is a program and its descendants: the members of the process group that
// it leads.
type group struct{ pid int }

// launch starts a program as the leader of a session, and so of a process group,
// of its own: it has no terminal to prompt on, and keyboard signals for fettle do
// not reach it.
func launch(cmd *exec.Cmd, start func(*exec.Cmd) error) (group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := start(cmd); err != nil {
		return group{}, err
	}
	return group{cmd.Process.Pid}, nil
}

func (g group) terminate() { _ = syscall.Kill(-g.pid, syscall.SIGTERM) } // an empty group is fine
func (g group) kill()      { _ = syscall.Kill(-g.pid, syscall.SIGKILL) }
func (g group) release()   {}

// lives reports whether the group has members.
func (g group) lives() bool { return syscall.Kill(-g.pid, 0) == nil }

// ending describes how a program has ended, as a clause.
func ending(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return "was ended by " + unix.SignalName(status.Signal())
	}
	return fmt.Sprintf("exited with status %d", state.ExitCode())
}

// executable reports whether a file can be run.
func executable(info os.FileInfo) bool { return info.Mode().IsRegular() && info.Mode()&0o111 != 0 }
