//go:build unix

package credentials

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// private returns an error if another user owns the file, or has access to it.
func private(info fs.FileInfo) error {
	of, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || int64(of.Uid) != int64(os.Geteuid()):
		return errors.New("it belongs to another user")
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("other users have access to it: its mode is %04o and must be 0600", info.Mode().Perm())
	}
	return nil
}
