package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// RealPath resolves an absolute path, in the workspace or not: the links of its longest existing
// part are followed. Links may change afterwards; a file opened through a [Workspace] is confined
// at the time of opening.
//
// It returns an error if the result is unknown, for example for a dangling link, which a write
// would follow.
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
