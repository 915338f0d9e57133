//go:build unix

package gitdir

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// changeTime returns the change time of a file, which programs cannot set.
func changeTime(file string) (time.Time, error) {
	var st unix.Stat_t
	if err := unix.Stat(file, &st); err != nil {
		return time.Time{}, &os.PathError{Op: "stat", Path: file, Err: err}
	}
	return time.Unix(st.Ctim.Unix()), nil
}
