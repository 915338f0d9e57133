package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// scratchPrefix begins the name of a commands' temporary directory; a number
// follows.
const scratchPrefix = "fettle-commands-"

// errHeld says that a directory is held by somebody else.
var errHeld = errors.New("somebody else holds the directory")

// newScratch makes a temporary directory, which is named without links, as
// landlock takes no others, and holds it until the file is closed.
func newScratch() (dir string, held *os.File, err error) {
	for range 100 { // another session may take the new directory for an old one before it is held
		if dir, err = os.MkdirTemp("", scratchPrefix); err != nil { // mode 0700
			return "", nil, err
		}
		real, err := filepath.Abs(dir)
		if err == nil {
			real, err = filepath.EvalSymlinks(real)
		}
		if err == nil {
			held, _, err = hold(real)
		}
		if err == nil {
			return real, held, nil
		}
		_ = os.Remove(dir)
		if !errors.Is(err, errHeld) && !errors.Is(err, fs.ErrNotExist) {
			return "", nil, err
		}
	}
	return "", nil, errHeld
}

// sweep removes the temporary directories in a directory that belonged to processes of
// this user which were killed. Where the file system has no locks for directories,
// as NFS, they stay. It removes them also from under a command that outlived
// its session.
func sweep(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), scratchPrefix)
		if !ok || number == "" || strings.Trim(number, "0123456789") != "" {
			continue
		}
		path := filepath.Join(parent, e.Name())
		held, locked, err := hold(path)
		if err != nil {
			continue
		}
		if locked {
			_ = removeAll(path) // else it stays: it hinders nobody
		}
		_ = held.Close()
	}
}
