package process

import "os"

// hold does nothing: Windows has no locks for directories.
func hold(string) (held *os.File, locked bool, err error) { return nil, false, nil }
