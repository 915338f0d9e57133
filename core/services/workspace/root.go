package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
)

// root is one workspace directory and, once used, its descriptor.
type root struct {
	name     string // absolute, cleaned, links unresolved
	realPath string // links resolved when the workspace was opened
	readOnly bool   // files in it may not be changed; see [Workspace.AddReadOnly]
	openDir  func(path string) (directory, error)

	mu     sync.Mutex
	dir    directory // nil before the first use
	closed bool
}

// open returns the directory's descriptor, which belongs to the root. The directory is always the
// one at realPath: a link that has replaced it or a parent is refused with errReplaced.
func (r *root) open() (directory, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, os.ErrClosed
	}
	if r.dir != nil {
		return r.dir, nil
	}
	dir, err := r.openDir(r.realPath)
	if err != nil {
		return nil, err
	}
	if again, err := filepath.EvalSymlinks(r.realPath); err != nil || again != r.realPath {
		dir.close()
		return nil, errors.Join(errReplaced, err)
	}
	r.dir = dir
	return dir, nil
}

// dropIfReplaced forgets dir if its directory has been removed or replaced, so that the next use
// opens the new one; it reports whether it did. The garbage collector closes dir, which other calls
// may still use.
func (r *root) dropIfReplaced(dir directory) bool {
	own, err := dir.identity()
	if err != nil {
		return false
	}
	if own.Nlink > 0 {
		info, err := lstat(r.realPath)
		if err == nil && sameFile(own, info) {
			return false
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dir == dir {
		r.dir = nil
	}
	return true
}

// sameFile compares identities where there are any.
func sameFile(a, b Info) bool { return a.Dev == b.Dev && a.Ino == b.Ino }

func (r *root) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.dir != nil {
		r.dir.close()
		r.dir = nil
	}
}
