//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// ownGroup makes cmd end with all processes that it started: the go command, the test
// and the test's workers.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
