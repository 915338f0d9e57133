package workspace

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"strconv"
)

// directory is an open directory. Methods with a parameter rel take a cleaned relative path ("." is
// the directory itself) and follow its links only if they can determine that it stays below the
// directory; otherwise they return errIndirect. Methods with a parameter name take one element and
// follow no links. System errors are wrapped, so that errors.Is finds the errno.
type directory interface {
	stat(rel string) (Info, error)
	// identity describes the directory itself, at least its Dev, Ino and Nlink.
	identity() (Info, error)
	open(rel string) (*os.File, error) // read-only, never blocking
	list(rel string) (listing, error)
	parent(rel string) (directory, error) // errIndirect for any link

	lstat(name string) (Info, error)
	lookup(name string) (entry, error)
	openEntry(name string) (*os.File, error)   // read-only, never blocking; errMoved for a link
	mkdir(name string, perm fs.FileMode) error // less the umask
	rmdir(name string) error
	symlink(target, name string) error // replaces a link in one step
	unlink(name string) error          // of a link
	chmod(name string, mode fs.FileMode) error
	// mayChange returns the reason why the directory refuses changes of that name.
	mayChange(name string) error
	// change prepares a change of the file with that name, which need not exist and is not a link.
	change(name string) (*Location, error)
	close()
}

// listing is a directory opened for reading, as a list of names and as a directory.
type listing struct {
	names func(buf []byte, yield func(Name) bool) error
	in    directory
}

func (l listing) close() { l.in.close() }

// listOf returns the listing of one open directory.
func listOf(file *os.File, in directory) listing {
	names := func(buf []byte, yield func(Name) bool) error { return readNames(file, in, buf, yield) }
	return listing{names, in}
}

// changeIn returns the place of a file in a directory that is changed directly.
func changeIn(file *os.File, in directory, name string) *Location {
	return &Location{Dir: file, Name: name, in: in}
}

// entry is the file under a name.
type entry struct {
	info   Info
	target string    // of a link
	dir    directory // of a directory; the caller closes it
}

// hiddenPrefix begins the names of links, and in upper directories of whiteouts and empty directories, that
// are being put in place. A kill may leave one.
const hiddenPrefix = ".fettle-overlay-"

func hiddenName() string {
	return hiddenPrefix + strconv.FormatUint(rand.Uint64(), 16) //nolint:gosec // a name that is in use is not overwritten
}
