//go:build unix

package extensionstore

import (
	"os/exec"
	"syscall"
)

// endWithChildren ends the children of a command with its context.
func endWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
