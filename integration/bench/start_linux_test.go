package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Budget: 20 ms wall and 25 MB at most for each start, 40 MB for the program.
// The floor is a program that does nothing.
func BenchmarkStart(b *testing.B) {
	bin := b.TempDir()
	fettle, nothing := filepath.Join(bin, "fettle"), filepath.Join(bin, "nothing")
	require.NoError(b, os.WriteFile(nothing+".go", []byte("package main\n\nfunc main() {}\n"), 0o644))
	build(b, fettle, "github.com/fettle-dev/fettle/cli/fettle")
	build(b, nothing, nothing+".go")
	size, err := os.Stat(fettle)
	require.NoError(b, err)
	require.NoError(b, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	for _, tt := range []struct {
		name    string
		command []string
	}{
		{"floor", []string{nothing}},
		{"version", []string{fettle, "--version"}},
		{"help", []string{fettle, "--help"}},
		{"tools", []string{fettle, "tools"}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			var walls []time.Duration
			for b.Loop() {
				cmd := exec.CommandContext(b.Context(), tt.command[0], tt.command[1:]...)
				cmd.Dir = bin
				start := time.Now()
				out, err := cmd.CombinedOutput()
				walls = append(walls, time.Since(start))
				require.NoError(b, err, "%s", out)
			}
			slices.Sort(walls)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(walls[0].Microseconds())/1e3, "ms/least")
			b.ReportMetric(float64(walls[len(walls)/2].Microseconds())/1e3, "ms/median")
			b.ReportMetric(float64(peakBytes(b, bin, tt.command))/1e6, "MB-RSS")
			if tt.command[0] == fettle {
				b.ReportMetric(float64(size.Size())/1e6, "MB-binary")
			}
		})
	}
}

func build(b *testing.B, out, pkg string) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	text, err := cmd.CombinedOutput()
	require.NoError(b, err, "%s", text)
}

// peakBytes returns the most memory that a command takes. A process's peak
// starts with that of the one that started it, so a shell, which is small,
// starts it and leaves it to this process to wait for. A command that ends
// before its shell does may be waited for there; then it is run again.
func peakBytes(b *testing.B, dir string, command []string) int64 {
	b.Helper()
	const tries = 100
	for range tries {
		peak, err := peakOnce(b, dir, command)
		if !errors.Is(err, syscall.ECHILD) {
			require.NoError(b, err)
			return peak
		}
	}
	b.Fatalf("%s always ended before the shell that had started it", command[0])
	return 0
}

func peakOnce(b *testing.B, dir string, command []string) (int64, error) {
	b.Helper()
	shell := exec.CommandContext(b.Context(), "sh", append([]string{"-c", `"$0" "$@" >/dev/null & echo $!`}, command...)...)
	shell.Dir = dir
	out, err := shell.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, shell.Start())
	var pid int
	_, err = fmt.Fscan(bufio.NewReader(out), &pid)
	require.NoError(b, err)
	require.NoError(b, shell.Wait())
	var status syscall.WaitStatus
	var usage syscall.Rusage
	if _, err := syscall.Wait4(pid, &status, 0, &usage); err != nil {
		return 0, err
	}
	require.Zero(b, status.ExitStatus())
	return usage.Maxrss << 10, nil
}
