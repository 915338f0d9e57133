//go:build unix

package transcript

import (
	"os"

	"golang.org/x/sys/unix"
)

// openSafely are flags that do not follow a symbolic link and do not wait for a pipe.
const openSafely = unix.O_NOFOLLOW | unix.O_NONBLOCK

// canRemoveOpen reports whether an open file can be removed.
const canRemoveOpen = true

// syncDir makes the entries of a directory durable.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	_ = d.Close() // nothing was written
	return err
}

// truncate truncates a file that is open for appending.
func truncate(f *os.File, size int64) error { return f.Truncate(size) }
