package gateway

import "os"

// private returns true: the directory determines who can access a file.
func private(os.FileInfo) bool { return true }
