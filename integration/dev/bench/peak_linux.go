package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// peakBytes returns the peak memory of a command, which must end with code 0. A process's peak
// starts with that of its parent. A small shell therefore starts the command, and leaves it to this
// process to wait for it. A command that ends before the shell may be reaped by the shell; then it
// is run again.
func peakBytes(ctx context.Context, dir string, env []string, command ...string) (float64, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }() // the same option was accepted before
	const tries = 100
	for range tries {
		peak, err := peakOnce(ctx, dir, env, command)
		if !errors.Is(err, syscall.ECHILD) {
			return peak, err
		}
	}
	return 0, fmt.Errorf("%s always ended before the shell that started it", command[0])
}

func peakOnce(ctx context.Context, dir string, env, command []string) (float64, error) {
	shell := exec.CommandContext(ctx, "sh", append([]string{"-c", `"$0" "$@" >/dev/null & echo $!`}, command...)...)
	shell.Dir, shell.Env = dir, env
	out, err := shell.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := shell.Start(); err != nil {
		return 0, err
	}
	var pid int
	_, scanning := fmt.Fscan(bufio.NewReader(out), &pid)
	if err := errors.Join(scanning, shell.Wait()); err != nil {
		return 0, err
	}
	// The command is not a child of exec.Cmd, so ctx must end it here.
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	defer stop()
	var status syscall.WaitStatus
	var usage syscall.Rusage
	for {
		_, err := syscall.Wait4(pid, &status, 0, &usage)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return 0, err
		}
		break
	}
	if status.ExitStatus() != 0 {
		return 0, fmt.Errorf("%s ended with code %d", strings.Join(command, " "), status.ExitStatus())
	}
	return float64(usage.Maxrss << 10), nil
}
