package standard

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A command of an agent file yields its output; background processes are not awaited, and endless output ends with an
// error.
func TestCommandOfAnAgentFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	out, err := run(t.Context(), "echo token")
	require.NoError(t, err)
	require.Equal(t, "token\n", out)

	out, err = run(t.Context(), "sleep 120 & echo $!")
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(out))
	require.NoError(t, err)
	left, err := os.FindProcess(pid)
	require.NoError(t, err)
	require.NoError(t, left.Signal(syscall.Signal(0)), "it still ran")
	require.NoError(t, left.Kill())

	_, err = run(t.Context(), "head -c 1000000 /dev/zero")
	require.ErrorContains(t, err, "more than 64 KiB")
	_, err = run(t.Context(), "exit 3")
	require.Error(t, err)
}
