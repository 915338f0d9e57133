package checkpoint

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncsAll: many new files are put on the disk in one go.
const syncsAll = true

// syncAll puts on the disk all that was written to the file system of a directory.
func syncAll(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // nothing was written
	return unix.Syncfs(int(f.Fd()))
}
