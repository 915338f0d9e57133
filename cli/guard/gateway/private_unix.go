//go:build unix

package gateway

import "os"

// private reports whether only its owner can access a file.
func private(info os.FileInfo) bool { return info.Mode().Perm()&0o077 == 0 }
