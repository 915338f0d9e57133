package commit

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestPause checks that a pause is not shorter than requested, and that its thread keeps the timers
// that it had.
func TestPause(t *testing.T) {
	runtime.LockOSThread() // never unlocked: the thread ends with the test
	const usual = 70_000
	require.NoError(t, unix.Prctl(unix.PR_SET_TIMERSLACK, usual, 0, 0, 0))
	const least = 300 * time.Microsecond
	begun := time.Now()
	pause(least)
	require.GreaterOrEqual(t, time.Since(begun), least)
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	require.NoError(t, err)
	require.Equal(t, usual, slack)
}
