package checker

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// RealPath is a function as passed by a session: it resolves the links of the
// longest existing part of an absolute path.
func RealPath(ctx context.Context, path string) (string, error) {
	rest := ""
	for head := filepath.Clean(path); ; head = filepath.Dir(head) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		real, err := filepath.EvalSymlinks(head)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		// A writer follows a dangling link.
		if info, lerr := os.Lstat(head); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", err
		}
		if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(head) == head {
			return "", err
		}
		rest = filepath.Join(filepath.Base(head), rest)
	}
}
