package transcript

import (
	"os"
)

const openSafely = 0

// removesOpen says that a file can be removed while it is open.
const removesOpen = false

// syncDir does nothing: names are durable with the file.
func syncDir(string) error { return nil }

// truncate cuts a file that is open for appending, which its handle may not.
func truncate(f *os.File, size int64) error { return os.Truncate(f.Name(), size) }
