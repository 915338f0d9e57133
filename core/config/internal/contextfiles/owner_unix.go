//go:build unix

package contextfiles

import (
	"io/fs"
	"syscall"
)

// sameOwner reports whether two files belong to the same user.
func sameOwner(a, b fs.FileInfo) bool {
	ofA, okA := a.Sys().(*syscall.Stat_t)
	ofB, okB := b.Sys().(*syscall.Stat_t)
	return okA && okB && ofA.Uid == ofB.Uid
}
