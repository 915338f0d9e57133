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
	own    Info      // the identity of dir, which no other file can have while dir is open
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
	own, err := dir.identity()
	if err != nil {
		dir.close()
		return nil, err
	}
	r.dir, r.own = dir, own
	return dir, nil
}

// dropIfReplaced forgets dir if its directory has been removed or replaced, so that the next use
// opens the new one; it reports whether the directory has to be opened again. The garbage collector
// closes dir, which other calls may still use.
func (r *root) dropIfReplaced(dir directory) bool {
	info, err := lstat(r.realPath)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.dir != dir: // another call has dropped it
		return true
	case err == nil && sameFile(r.own, info):
		return false
	}
	r.dir = nil
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
