//go:build unix

package file_test

import (
	"io/fs"
	"syscall"
)

// identity returns the inode number, which distinguishes files of the same name.
func identity(info fs.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }

// errNoSpace is the error of a full disk.
var errNoSpace error = syscall.ENOSPC
