package extensions

import (
	"os"

	"golang.org/x/sys/unix"
)

// replaceFolder puts the directory from in the place of the directory place, which is
// away afterwards. The place is never empty, unless the file system cannot
// exchange two directories.
func replaceFolder(from, place, away string) error {
	if err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, place, unix.RENAME_EXCHANGE); err != nil {
		return moveAround(from, place, away)
	}
	return os.Rename(from, away)
}
