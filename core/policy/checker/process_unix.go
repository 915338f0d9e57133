//go:build unix

package checker

import (
	"os"
	"os/exec"
	"syscall"
)

// isolate gives a program a session of its own: no terminal to ask at, and one
// group that holds all it starts.
func isolate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// terminate asks a program and all that it started to end.
func terminate(cmd *exec.Cmd) error {
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM); err != nil {
		return os.ErrProcessDone
	}
	return nil
}

// killRest ends what a program that has ended left behind. The number of its
// group is taken while a member lives; if none does, the kernel has just freed
// it and hands out others first.
func killRest(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // nobody left is well
	}
}
