//go:build unix

package rulefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/fettle-dev/fettle/core/fault"
)

// CheckAdmin returns an error if the administrator's policy directory must not be
// loaded: the directory, its parent or one of its policy files is owned by a user other
// than root or is writable by others. Targets of links are checked too. A missing
// directory is no error; [Load] reports unreadable files. On Windows nothing is checked.
func CheckAdmin(dir string) *fault.Problem {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	files, _ := expand(dir)
	var paths []string
	for _, path := range append([]string{dir}, files...) {
		paths = append(paths, filepath.Dir(path), path)
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
			paths = append(paths, filepath.Dir(real))
		}
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			continue // unreadable for everyone
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		var why string
		switch {
		case !ok || stat.Uid != 0:
			why = "does not belong to root"
		case info.Mode().Perm()&0o022 != 0:
			why = fmt.Sprintf("may be written to by others than root (its mode is %04o)", info.Mode().Perm())
		default:
			continue
		}
		return &fault.Problem{
			Path: path, Kind: KindInsecure, Severity: Warning,
			Message: fmt.Sprintf("It %s, so the policies in %s are not loaded.", why, dir),
			Remedy:  "Run `chown root` and `chmod go-w` on it.",
		}
	}
	return nil
}
