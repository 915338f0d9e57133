package workspace

import "os"

// directory is an open directory. Methods with a parameter rel take a cleaned relative path ("." is
// the directory itself) and follow its links only if they can determine that it stays below the
// directory; otherwise they return errIndirect. Methods with a parameter name take one element and
// follow no links. System errors are wrapped, so that errors.Is finds the errno.
type directory interface {
	stat(rel string) (Info, error)
	open(rel string) (*os.File, error) // read-only, never blocking
	list(rel string) (listing, error)
	parent(rel string) (directory, error) // errIndirect for any link

	lstat(name string) (Info, error)
	lookup(name string) (entry, error)
	openEntry(name string) (*os.File, error) // read-only, never blocking; errMoved for a link
	mkdir(name string) error
	rmdir(name string) error
	close()
}

// listing is a directory opened for reading, as a file and as a directory.
type listing struct {
	file *os.File
	in   directory
}

func (l listing) close() {
	l.in.close()
	_ = l.file.Close() // may be closed already, with in
}

// entry is the file under a name.
type entry struct {
	info   Info
	target string    // of a link
	dir    directory // of a directory; the caller closes it
}
