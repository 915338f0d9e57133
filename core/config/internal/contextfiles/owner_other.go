//go:build !unix

package contextfiles

import "io/fs"

// sameOwner reports true: this system's file owners are not checked.
func sameOwner(_, _ fs.FileInfo) bool { return true }
