package commit

import (
	"errors"
	"io/fs"
	"os"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// system contains the operations of the operating system that a commit uses. Names are base names
// in dir, and symbolic links are never followed. Operations that the platform or the file system
// does not support return an error that errors.Is(err, errors.ErrUnsupported) reports; other errors
// contain the system's error number.
type system interface {
	// openDir opens dir again: a lock on the result belongs to the caller alone.
	openDir(dir *os.File) (*os.File, error)
	// pathOf returns the absolute name of an open directory, or fallback if the system does not
	// know it.
	pathOf(dir *os.File, fallback string) string
	// tryLock takes the lock that ends with unlock or the file's last close; errBusy if another
	// process holds it.
	tryLock(f *os.File) error
	unlock(f *os.File)

	// list returns up to n of dir's next names, io.EOF at the end.
	list(dir *os.File, n int) ([]string, error)
	look(dir *os.File, name string) (entry, error)
	// openRead and openWrite never wait: a FIFO does not block them, and a file that another
	// process has leased returns errBusy. openWrite reads and writes, and neither creates nor
	// truncates.
	openRead(dir *os.File, name string) (*os.File, error)
	openWrite(dir *os.File, name string) (*os.File, error)
	// reopen opens f's file again, for reading only.
	reopen(f *os.File) (*os.File, error)
	// mayWrite reports whether the caller may write to name, without opening it.
	mayWrite(dir *os.File, name string) error
	// mayReplace returns the obstacle to renaming a file over name, as far as the system reports it
	// beforehand.
	mayReplace(dir *os.File, name string) error

	// createUnnamed creates a file that vanishes unless linkUnnamed gives it a name; createNamed
	// creates one that must be new. Both have the mode perm less the umask, or the mode of the
	// directory's default ACL.
	createUnnamed(dir *os.File, perm fs.FileMode) (*os.File, error)
	createNamed(dir *os.File, name string, perm fs.FileMode) (*os.File, error)
	linkUnnamed(f *os.File, dir *os.File, name string) error // fs.ErrExist if the name exists

	writeAt(f *os.File, data []byte, offset int64) error
	reserve(f *os.File, size int64) error // reserves space for size bytes; best effort
	truncate(f *os.File, size int64) error
	sync(f *os.File) error
	// copyAttributes gives dst the mode, extended attributes, owner and group of src. If the owner
	// or group is not permitted, dst gets the rest without the set-user-ID and set-group-ID bits,
	// and the result is errOwner.
	copyAttributes(dst, src *os.File) error

	exchange(dir *os.File, a, b string) error
	link(dir *os.File, from, to string) error            // fs.ErrExist if the name exists
	rename(dir *os.File, from, to string) error          // replaces
	renameNoReplace(dir *os.File, from, to string) error // fs.ErrExist if the name exists
	remove(dir *os.File, name string) error
	makeWhiteout(dir *os.File, name string) error // fs.ErrExist if the name exists

	// lease makes the kernel report whether any process opens f's file for writing, or, with
	// exclusive, at all; errBusy if one has it open already. f must be open for reading only, or
	// with exclusive be the only descriptor.
	lease(f *os.File, exclusive bool) error
	leaseHeld(f *os.File) bool // no process has tried since
	endLease(f *os.File)
}

// entry is the file that a name refers to.
type entry struct {
	mode     fs.FileMode
	dev, ino uint64 // 0 if the platform has no reliable identity
	size     int64
	mtimeNS  int64 // since 1970
	ctimeNS  int64 // since 1970; 0 if the platform has none
	whiteout bool  // a character device 0:0
}

// is reports whether the entry is the file that info describes, as far as the platform can
// distinguish files.
func (e entry) is(info workspace.Info) bool {
	return e.mode.IsRegular() && (e.ino == 0 || e.dev == info.Dev && e.ino == info.Ino)
}

// errBusy is returned if another process holds the lock, or has the file open.
var errBusy = errors.New("in use")
