package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// RealPath returns where an absolute path leads, in the workspace or not: the
// links of the longest part of it that exists are followed. It is a look and
// no promise, as links may change; what is opened through a [Workspace] is
// confined when it is opened.
//
// The error says that it cannot be told, as of a link that leads nowhere yet,
// which whoever writes to it would follow.
func RealPath(path string) (string, error) {
	rest := ""
	for head := filepath.Clean(path); ; head = filepath.Dir(head) {
		real, err := filepath.EvalSymlinks(head)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if info, lerr := os.Lstat(head); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", err
		}
		if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(head) == head {
			return "", err
		}
		rest = filepath.Join(filepath.Base(head), rest)
	}
}
