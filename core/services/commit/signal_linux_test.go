package commit

import (
	"os"
	"os/signal"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestBrokenLeaseSendsNoSIGIO checks that the signal of a broken lease neither ends a process
// without Go's handlers nor reaches a program's own handler.
func TestBrokenLeaseSendsNoSIGIO(t *testing.T) {
	fx := newFixture(t, oldText)
	got := make(chan os.Signal, 8)
	signal.Notify(got, unix.SIGIO, unix.SIGURG)
	defer signal.Stop(got)
	f, err := os.Open(fx.file)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, kernel{}.lease(f, false))
	require.True(t, kernel{}.leaseHeld(f))
	_, err = openNow(fx.dir, "target.txt", unix.O_WRONLY)
	require.ErrorIs(t, err, errBusy)
	require.False(t, kernel{}.leaseHeld(f))
	owner, err := unix.FcntlInt(f.Fd(), unix.F_GETOWN, 0)
	require.NoError(t, err)
	require.Zero(t, owner, "no process gets a signal")
	kernel{}.endLease(f)
	w, err := openNow(fx.dir, "target.txt", unix.O_WRONLY)
	require.NoError(t, err)
	defer w.Close()
	require.ErrorIs(t, kernel{}.lease(f, false), errBusy)
	select {
	case s := <-got:
		require.NotEqual(t, unix.SIGIO, s)
	default:
	}
}
