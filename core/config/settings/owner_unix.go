//go:build unix

package settings

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ownFile returns an error if a user other than this one may have written a file:
// because it belongs to another user, or because others may write it. Root may
// write any file, so its files count as the user's own.
func ownFile(info fs.FileInfo) error {
	of, ok := info.Sys().(*syscall.Stat_t)
	switch uid := os.Geteuid(); {
	case !ok || int64(of.Uid) != int64(uid) && of.Uid != 0:
		return fmt.Errorf("%w: it belongs to another user", errNotOwn)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%w: other users can write it", errNotOwn)
	}
	return nil
}
