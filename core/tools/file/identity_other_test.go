//go:build !unix

package file_test

import (
	"io/fs"
	"syscall"
)

func identity(fs.FileInfo) uint64 { return 0 }

// errNoSpace is the error of a full disk.
var errNoSpace error = syscall.Errno(112) // ERROR_DISK_FULL
