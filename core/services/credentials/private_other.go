//go:build !unix

package credentials

import "io/fs"

// private accepts every file: the user's profile directory decides who has access.
func private(fs.FileInfo) error { return nil }
