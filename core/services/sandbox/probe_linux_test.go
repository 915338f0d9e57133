package sandbox

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// SB-06: the probe creates nothing, which would stay if this process was killed in the meantime.
func TestProbeCreatesNothing(t *testing.T) {
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	require.NoError(t, err)
	defer unix.Close(watch) //nolint:errcheck // nothing was written
	_, err = unix.InotifyAddWatch(watch, "/var/tmp", unix.IN_CREATE)
	require.NoError(t, err)
	if err := runProbe(); err != nil {
		t.Skip(err)
	}
	events := make([]byte, 1<<16) // other processes create files there, too
	n, _ := unix.Read(watch, events)
	require.NotContains(t, string(events[:max(n, 0)]), "probe")
}
