package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// scratchPrefix is the prefix of the names of temporary directories; a number follows.
const scratchPrefix = "fettle-commands-"

// errHeld is returned if another process holds the directory.
var errHeld = errors.New("another process holds the directory")

// newScratch creates a temporary directory in parent, or in [os.TempDir] if parent is "", and holds
// it until the file is closed. The returned path contains no links, because Landlock rules require
// that.
func newScratch(parent string) (dir string, held *os.File, err error) {
	for range 100 { // another session may claim the new directory as stale before it is held
		if dir, err = os.MkdirTemp(parent, scratchPrefix); err != nil { // mode 0700
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

// sweep removes the temporary directories in parent that belonged to killed processes of this user.
// On file systems without directory locks, such as NFS, they stay. It also removes the directory of
// a command that outlived its session.
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
			_ = removeAll(path) // on failure it stays, which is harmless
		}
		_ = held.Close()
	}
}
