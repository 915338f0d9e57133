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

// identity identifies a file and its state. The zero value is that of a missing file.
type identity struct {
	device, inode uint64
	size          int64
	modified      time.Time
	changed       time.Time
}

// identityOf returns the identity of a file; of a directory without its state.
func identityOf(file string) identity {
	var st unix.Stat_t
	switch err := unix.Stat(file, &st); {
	case err != nil:
		return identity{}
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		return identity{device: uint64(st.Dev), inode: st.Ino} //nolint:unconvert // a different type on other systems
	}
	return identity{uint64(st.Dev), st.Ino, st.Size, time.Unix(st.Mtim.Unix()), time.Unix(st.Ctim.Unix())} //nolint:unconvert // see above
}
