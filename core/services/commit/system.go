package commit

import (
	"errors"
	"io/fs"
	"os"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// system is what a commit asks of the operating system. Names are base names
// in dir, and a symbolic link is never followed. What the platform or the file
// system cannot do answers errors.Is(err, errors.ErrUnsupported); other errors
// carry the system's error number.
type system interface {
	// openDir opens dir anew: a lock on the result is the caller's own.
	openDir(dir *os.File) (*os.File, error)
	// pathOf is the absolute name of an open directory; fallback where the system
	// does not tell.
	pathOf(dir *os.File, fallback string) string
	// tryLock takes the lock that ends with unlock or the file's last close;
	// errBusy if somebody has it.
	tryLock(f *os.File) error
	unlock(f *os.File)

	// list answers up to n of dir's next names, io.EOF at the end.
	list(dir *os.File, n int) ([]string, error)
	look(dir *os.File, name string) (entry, error)
	// openRead and openWrite never wait: a FIFO does not block them, and a file
	// that somebody holds a lease on answers errBusy. openWrite reads and
	// writes, and neither creates nor truncates.
	openRead(dir *os.File, name string) (*os.File, error)
	openWrite(dir *os.File, name string) (*os.File, error)
	// reopen opens f's file again, for reading only.
	reopen(f *os.File) (*os.File, error)
	// mayWrite says whether the caller may write to name, without opening it.
	mayWrite(dir *os.File, name string) error
	// mayReplace answers the obstacle that forbids to rename a file over name,
	// as far as the system tells beforehand.
	mayReplace(dir *os.File, name string) error

	// createUnnamed makes a file that vanishes unless linkUnnamed gives it a
	// name; createNamed makes one that must be new. Both have the mode perm less
	// the umask, or what the directory's default ACL makes of it.
	createUnnamed(dir *os.File, perm fs.FileMode) (*os.File, error)
	createNamed(dir *os.File, name string, perm fs.FileMode) (*os.File, error)
	linkUnnamed(f *os.File, dir *os.File, name string) error // fs.ErrExist if taken

	writeAt(f *os.File, data []byte, offset int64) error
	reserve(f *os.File, size int64) error // makes sure that size bytes have room; best effort
	truncate(f *os.File, size int64) error
	sync(f *os.File) error
	// copyAttributes gives dst the mode, extended attributes, owner and group of
	// src. Where the owner or group is not permitted, dst gets the rest without
	// the set-user-ID and set-group-ID bits, and the answer is errOwner.
	copyAttributes(dst, src *os.File) error

	exchange(dir *os.File, a, b string) error
	link(dir *os.File, from, to string) error            // fs.ErrExist if taken
	rename(dir *os.File, from, to string) error          // replaces
	renameNoReplace(dir *os.File, from, to string) error // fs.ErrExist if taken
	remove(dir *os.File, name string) error

	// lease has the kernel tell whether anybody opens f's file for writing, or
	// with exclusive at all; errBusy if somebody has it open so already. f must
	// be open for reading only, or for exclusive be the only descriptor.
	lease(f *os.File, exclusive bool) error
	leaseHeld(f *os.File) bool // nobody has asked since
	endLease(f *os.File)
}

// entry is what a name stands for.
type entry struct {
	mode     fs.FileMode
	dev, ino uint64 // 0 where the platform has no dependable identity
	size     int64
	mtimeNS  int64 // since 1970
	ctimeNS  int64 // likewise; 0 where the platform has none
}

// is says that the entry is the file that info describes, as far as the
// platform can tell.
func (e entry) is(info workspace.Info) bool {
	return e.mode.IsRegular() && (e.ino == 0 || e.dev == info.Dev && e.ino == info.Ino)
}

// errBusy: somebody else has the lock, or the file open.
var errBusy = errors.New("in use")
