// Package memtemp keeps the temporary files of a package's tests in memory, so that
// tests of many small files take less time. Tests only.
package memtemp

import (
	"os"
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
// that killed runs have left.
func (t Tests) Run() int {
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
