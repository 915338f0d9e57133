//go:build unix

package rulefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// CheckAdmin says why the administrator's folder of policies must not be
// loaded: it, or one of its policy files, belongs to somebody else than root
// or may be written to by others. nil: load it; so it is where nothing is
// there. On Windows nothing is checked: who may write to a folder is not in
// its mode there, and the folder's default rights keep users out.
func CheckAdmin(dir string) *Problem {
	paths, err := expand(dir)
	if err != nil {
		p := unreadable(dir, err)
		return &p
	}
	for _, path := range append([]string{dir}, paths...) {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			p := unreadable(path, err)
			return &p
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
		return &Problem{
			Path: path, Kind: KindInsecure, Severity: Warning,
			Message: fmt.Sprintf("It %s, so the policies of %s are not loaded.", why, dir),
			Remedy:  "Run `chown root` and `chmod go-w` on it.",
		}
	}
	return nil
}
