package transcript

import (
	"os"
)

const openSafely = 0

// canRemoveOpen reports whether an open file can be removed.
const canRemoveOpen = false

// syncDir does nothing: an entry is durable together with its file.
func syncDir(string) error { return nil }

// truncate truncates a file that is open for appending. The handle of such a file has no permission
// for it.
func truncate(f *os.File, size int64) error { return os.Truncate(f.Name(), size) }
