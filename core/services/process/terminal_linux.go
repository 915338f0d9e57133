package process

import "golang.org/x/sys/unix"

// wantsEnd reports whether the terminal gives out whole lines and has none, nor
// an end of input, that nobody has read yet.
func (t *terminal) wantsEnd(bool) bool {
	fd, err := unix.Open(t.name, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written here
	state, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil || state.Lflag&unix.ICANON == 0 {
		return false
	}
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0) //nolint:gosec // a descriptor
	return err == nil && n == 0
}
