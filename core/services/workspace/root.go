package workspace

import (
	"os"
	"path/filepath"
	"sync"
)

// root is one workspace folder and, once used, its descriptor.
type root struct {
	folder     string // absolute, cleaned, links unresolved
	openFolder func(path string) (directory, error)

	mu       sync.Mutex
	dir      directory // nil before the first use
	realPath string    // folder with its links resolved when dir was opened
	closed   bool
}

// open returns the folder's descriptor, which stays the root's.
func (r *root) open() (directory, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.openLocked(); err != nil {
		return nil, err
	}
	return r.dir, nil
}

// resolved returns the folder's name with its links resolved.
func (r *root) resolved() (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.openLocked(); err != nil {
		return "", err
	}
	return r.realPath, nil
}

func (r *root) openLocked() error {
	if r.closed {
		return os.ErrClosed
	}
	if r.dir != nil {
		return nil
	}
	realPath, err := filepath.EvalSymlinks(r.folder)
	if err != nil {
		return err
	}
	dir, err := r.openFolder(realPath)
	if err != nil {
		return err
	}
	r.dir, r.realPath = dir, realPath
	return nil
}

// dropIfRemoved forgets dir if its folder has been removed from the file
// system, so that the next use opens the name again, and reports whether it
// did. The collector closes dir, which other calls may still be using.
func (r *root) dropIfRemoved(dir directory) bool {
	info, err := dir.stat(".")
	if err != nil || info.Nlink != 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dir == dir {
		r.dir = nil
	}
	return true
}

func (r *root) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.dir != nil {
		r.dir.close()
		r.dir = nil
	}
}
