// Package memtemp makes the tests of a package take less time by using more memory:
// temporary files are in memory, and garbage is collected less often. Tests only.
package memtemp

import (
	"os"
	"runtime/debug"
	"testing"
)

// Tests are the tests of a package, to be run by its TestMain.
type Tests struct{ m *testing.M }

// Of returns the tests of m.
func Of(m *testing.M) Tests { return Tests{m} }

// Run runs the tests with TMPDIR set to a new directory in memory, removes the
// directory, and returns the exit code of the tests. The directory is in /dev/shm if
// that is a tmpfs where programs can run and 2 GiB are free. Otherwise, and if TMPDIR is
// already set, the tests run in an unchanged environment. Run also removes directories
// that killed runs have left. Unless GOGC is set, garbage is collected when the heap has
// grown to five times the live data.
func (t Tests) Run() int {
	collectLess()
	if os.Getenv("TMPDIR") != "" || !suitable(memory) {
		return t.m.Run()
	}
	dir, remove, err := create(memory)
	if err != nil {
		return t.m.Run()
	}
	defer remove()
	if err := os.Setenv("TMPDIR", dir); err != nil {
		panic(err)
	}
	return t.m.Run()
}

func collectLess() {
	const usual, percent = 100, 400
	if before := debug.SetGCPercent(percent); before != usual {
		debug.SetGCPercent(before)
	}
}
