//go:build unix

package rules

import (
	"time"

	"golang.org/x/sys/unix"
)

// stateOf returns the state of a directory; ok is false if it is none.
func stateOf(dir string) (s state, ok bool) {
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return s, false
	}
	return state{uint64(st.Dev), st.Ino, time.Unix(st.Ctim.Unix())}, true //nolint:unconvert // a different type on other systems
}

// searchable reports whether entries of a directory can be accessed.
func searchable(dir string) bool { return unix.Access(dir, unix.X_OK) == nil }
