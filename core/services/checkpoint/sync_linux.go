package checkpoint

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncsAll: many new files are flushed to disk together.
const syncsAll = true

// syncAll flushes all writes to the file system of a directory.
func syncAll(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // nothing was written
	return unix.Syncfs(int(f.Fd()))
}
