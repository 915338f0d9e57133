//go:build unix

package checker

import (
	"os"
	"os/exec"
	"syscall"
)

// isolate gives a program a session of its own: no terminal to prompt on, and one
// process group for its descendants.
func isolate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// terminate sends a program and its descendants SIGTERM.
func terminate(cmd *exec.Cmd) error {
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM); err != nil {
		return os.ErrProcessDone
	}
	return nil
}

// killRest kills the remaining descendants of a program that has ended. The ID of
// its group is in use while a member is alive; if none is, the kernel has just
// freed the ID and reuses others first.
func killRest(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // an empty group is fine
	}
}
