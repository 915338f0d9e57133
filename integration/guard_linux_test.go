package integration

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// buildGuard builds the program for hooks as for a release.
func buildGuard(t *testing.T, dir string) string {
	t.Helper()
	file := filepath.Join(dir, "fettle-guard-hook")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-gcflags=all=-l", "-gcflags=runtime=", "-ldflags=-s -w -funcalign=1", "-o", file, "./cli/fettle-guard-hook")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return file
}

// FD-03: the program for hooks, built as for a release, is a file of at most 5 MB. It takes
// at most 8 times as long as a Go program that does nothing, 4 times without other load,
// and touches at most 5 times as many pages. Of each program the least counts.
func TestGuardIsSmallAndFast(t *testing.T) { // not parallel: it measures time
	if runtime.GOARCH != "amd64" {
		t.Skip("the limits are those of amd64")
	}
	dir, home := t.TempDir(), t.TempDir()
	guard := buildGuard(t, dir)
	info, err := os.Stat(guard)
	require.NoError(t, err)
	require.LessOrEqual(t, info.Size(), int64(5_000_000), "see what grew: go tool nm -size -sort size, without -s and -w")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "bare.go"), []byte("package main\n\nfunc main() { println() }\n"), 0o600))
	bare := filepath.Join(dir, "bare")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bare, filepath.Join(dir, "bare.go")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	rules, err := os.ReadFile(filepath.Join(root, "core", "policy", "testdata", "policy.toml"))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".fettle"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".fettle", "policies.toml"), rules, 0o600))
	request := `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"git status && go test ./..."},"cwd":` + strconv.Quote(dir) + `}`
	run := func(name string, args ...string) (time.Duration, int64) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Env, cmd.Stdin = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, strings.NewReader(request)
		begun := time.Now()
		require.NoError(t, cmd.Run())
		took := time.Since(begun)
		return took, pageFaults(t, cmd.ProcessState)
	}
	base, full := time.Hour, time.Hour
	basePages, fullPages := int64(math.MaxInt64), int64(math.MaxInt64)
	for range 40 {
		took, pages := run(bare)
		base, basePages = min(base, took), min(basePages, pages)
		took, pages = run(guard, "hook", "--client=claude")
		full, fullPages = min(full, took), min(fullPages, pages)
	}
	t.Logf("%d bytes; %v and %d pages, a bare program %v and %d", info.Size(), full, fullPages, base, basePages)
	require.LessOrEqual(t, full, 8*base)
	require.LessOrEqual(t, fullPages, 5*basePages)
}

// pageFaults returns how often an ended process touched a page for the first time.
func pageFaults(t *testing.T, state *os.ProcessState) int64 {
	t.Helper()
	usage, ok := state.SysUsage().(*syscall.Rusage)
	require.True(t, ok)
	return usage.Minflt
}
