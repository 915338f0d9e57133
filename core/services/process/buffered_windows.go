package process

import "os"

// buffered reads nothing: pipes have no deadlines on Windows, and are read to their end.
func buffered(*os.File, []byte) int { return 0 }
