package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// offerEnd types the end of input if the terminal has nothing to read and delivers whole lines, or
// if keys may be typed. It removes the character again if no process reads it, and reports whether
// one did.
func (t *terminal) offerEnd(bool) bool {
	fd, err := uninterrupted(func() (int, error) {
		return unix.Open(t.name, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return false
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written here
	state, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return false
	}
	key := state.Lflag&unix.ICANON == 0
	if key && t.keys == 0 || hasInput(fd) {
		return false
	}
	// hasInput reports nothing if fewer bytes are unread than the program waits for (VMIN).
	unread, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
	if err != nil {
		return false
	}
	t.typeEnd()
	const offered = 5 * time.Millisecond // enough for a process that already waits
	limit := time.NewTimer(offered)
	defer limit.Stop()
	select {
	case <-limit.C:
	case <-t.end:
	}
	switch {
	case !key && hasInput(fd):
		_ = unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH)
		return false
	case !key:
		return true
	case unread == 0:
		// A flush would not tell whether the process took the key before. A process that is blocked in a
		// read holds the terminal's read lock: this read then fails, and the process receives the key.
		if n, _ := uninterrupted(func() (int, error) { return unix.Read(fd, make([]byte, 1)) }); n == 1 {
			return false
		}
	}
	t.keys--
	return true
}

// hasInput reports whether a terminal has unread input.
func hasInput(fd int) bool {
	n, err := uninterrupted(func() (int, error) {
		return unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0) //nolint:gosec // a descriptor
	})
	return err != nil || n > 0
}
