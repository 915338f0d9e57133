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
