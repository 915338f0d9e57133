//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package approval

import "os"

// discardTyped does nothing, as there is no way to empty a terminal's queue.
func discardTyped(*os.File) {}
