//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package approval

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardTyped drops what was typed at a terminal and not read yet.
func discardTyped(terminal *os.File) {
	conn, err := terminal.SyscallConn() // Fd would make reads of it impossible to give up
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) { _ = unix.IoctlSetPointerInt(int(fd), unix.TIOCFLUSH, unix.TCIFLUSH) })
}
