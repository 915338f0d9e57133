//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Probe returns the reason why this system cannot confine commands by namespaces; nil if it can. It
// runs a command once per process.
func Probe() error { return probe() }

var probe = sync.OnceValue(runProbe)

func runProbe() error {
	dir, err := filepath.EvalSymlinks("/var/tmp") // the command writes nothing, so nothing is created that could stay
	if err != nil {
		return &Error{Step: "find a temporary directory", Err: err}
	}
	s := &Session{limit: ownLimit} // the command opens no files
	defer s.Close()
	cmd := exec.Command(shell, "-c", ":") //nolint:noctx // ends at once
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := s.Start(cmd, Rules{Temp: dir}); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return &Error{Step: "run a command in namespaces", Err: fmt.Errorf("%w", err)}
	}
	if s.Busy() { // otherwise every name would count as created by a process that is still running
		return &Error{Step: "list the processes of the namespaces", Err: errors.New("/proc does not contain them")}
	}
	return nil
}

// ownLimit returns this process's limit of open files. Unlike [fileLimit] it starts no program.
func ownLimit() (l unix.Rlimit, err error) {
	if err = unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return l, &Error{Step: "read limits", Err: err}
	}
	return l, nil
}
