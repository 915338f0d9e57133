//go:build !unix

package contextfiles

import "io/fs"

// sameOwner reports whether two files belong to one user, which is not looked at
// here.
func sameOwner(_, _ fs.FileInfo) bool { return true }
