//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package approval

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardTyped drops unread input of a terminal.
func discardTyped(terminal *os.File) {
	conn, err := terminal.SyscallConn() // Fd would set blocking mode, and a read could no longer be abandoned
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) { _ = unix.IoctlSetPointerInt(int(fd), unix.TIOCFLUSH, unix.TCIFLUSH) })
}
