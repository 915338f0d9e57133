package extensionstore

import (
	"os"

	"golang.org/x/sys/unix"
)

// replaceDir replaces the directory place by the directory from; the old one becomes
// away. The place is never empty, unless the file system cannot exchange two
// directories.
func replaceDir(from, place, away string) error {
	if err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, place, unix.RENAME_EXCHANGE); err != nil {
		return moveAround(from, place, away)
	}
	return os.Rename(from, away)
}
