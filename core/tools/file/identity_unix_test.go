//go:build unix

package file_test

import (
	"io/fs"
	"syscall"
)

// identity is what tells a file from another that took its name.
func identity(info fs.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }

// errNoSpace is what a full disk answers.
var errNoSpace error = syscall.ENOSPC
