package commit

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

func pause(d time.Duration) { time.Sleep(d) }

func (kernel) pathOf(_ *os.File, fallback string) string { return fallback }

func (kernel) createUnnamed(*os.File, fs.FileMode) (*os.File, error) {
	return nil, errors.ErrUnsupported
}

func (kernel) linkUnnamed(*os.File, *os.File, string) error {
	return errors.ErrUnsupported
}

func (kernel) exchange(dir *os.File, a, b string) error {
	return renameatx(dir, a, b, unix.RENAME_SWAP)
}

func (kernel) renameNoReplace(dir *os.File, from, to string) error {
	return renameatx(dir, from, to, unix.RENAME_EXCL)
}

func renameatx(dir *os.File, from, to string, flag uint32) error {
	err := retry(func() error {
		return unix.RenameatxNp(int(dir.Fd()), from, int(dir.Fd()), to, flag)
	})
	runtime.KeepAlive(dir)
	if errors.Is(err, unix.EINVAL) { // ENOTSUP already means that
		return unsupported(err)
	}
	return nameError("rename", from, err)
}

func (kernel) mayWrite(dir *os.File, name string) error {
	f, err := openNow(dir, name, unix.O_WRONLY)
	if err != nil {
		return err
	}
	closeFile(f)
	return nil
}

func isMountRoot(*os.File, string) bool { return false }

func ownsAll() bool { return os.Geteuid() == 0 }

func (kernel) reserve(*os.File, int64) error { return nil }

func (kernel) lease(*os.File, bool) error { return errors.ErrUnsupported }

func (kernel) leaseHeld(*os.File) bool { return false }

func (kernel) endLease(*os.File) {}

// shields: macOS has no leases.
const shields = false

func (kernel) reopen(*os.File) (*os.File, error) { return nil, errors.ErrUnsupported }

const errNoAttribute = unix.ENOATTR

func (kernel) makeWhiteout(*os.File, string) error { return errors.ErrUnsupported }
