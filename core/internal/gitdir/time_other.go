//go:build !unix

package gitdir

import (
	"os"
	"time"
)

// changeTime returns the modification time of a file, which programs can set.
func changeTime(file string) (time.Time, error) {
	info, err := os.Stat(file)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// identity identifies the state of a file. The zero value is that of a missing file.
type identity struct {
	size    int64
	changed time.Time
	dir     bool
}

// identityOf returns the identity of a file; of a directory without its state.
func identityOf(file string) identity {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return identity{}
	case info.IsDir():
		return identity{dir: true}
	}
	return identity{size: info.Size(), changed: info.ModTime()}
}
