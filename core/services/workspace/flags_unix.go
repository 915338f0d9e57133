//go:build unix

package workspace

import (
	"os"

	"golang.org/x/sys/unix"
)

// openFlags keep an open from waiting for the writer of a FIFO, and a terminal from becoming the
// controlling terminal.
const openFlags = unix.O_NONBLOCK | unix.O_NOCTTY

// removeDir removes an empty directory and no other file.
func removeDir(root *os.Root, name string) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // nothing was written
	return unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR)
}
