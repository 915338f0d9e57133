//go:build unix

package transcript

import (
	"os"

	"golang.org/x/sys/unix"
)

// openSafely are flags that neither follow a link nor wait for a pipe.
const openSafely = unix.O_NOFOLLOW | unix.O_NONBLOCK

// removesOpen says that a file can be removed while it is open.
const removesOpen = true

// syncDir makes the names in a directory durable.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	_ = d.Close() // nothing was written
	return err
}

// truncate cuts a file that is open for appending.
func truncate(f *os.File, size int64) error { return f.Truncate(size) }
