package filestate

import (
	"context"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Touched looks, by stat alone, for files that the conversation was given and
// that are others now, or gone, as after a command that somebody else ran
// (KH-27). It returns their absolute paths, sorted, and each change once. What
// was given stays known, so that a change based on it is refused with the file as
// it is now (FS-29), and not as one of a file that was never read. resolve
// turns such a path into a name inside the workspace; what it refuses, and what
// cannot be looked at, is left as it is. When ctx ends it returns what it has
// found until then. With the cache turned off it finds nothing.
//
// That nothing is found is no proof: a mutation settles it by hash.
func (s *Service) Touched(ctx context.Context, resolve func(path string) (workspace.Path, error)) (changed, gone []string) {
	if s.HeedHatch() {
		return nil, nil
	}
	for _, known := range s.Cache.shown() {
		if ctx.Err() != nil {
			break
		}
		p, err := resolve(known.path)
		if err != nil {
			continue
		}
		info, err := s.files.Stat(p)
		switch {
		case fault.CodeOf(err) == fault.FileNotFound && s.tell(ctx, known.path, nowhere):
			gone = append(gone, known.path)
		case err == nil && known.Fingerprint != fingerprintOf(info) && s.tell(ctx, known.path, fingerprintOf(info)):
			changed = append(changed, known.path)
		}
	}
	return changed, gone
}

// tell notes that a change of a file is reported, and returns whether it is new. It is
// new again if the report is dropped.
func (s *Service) tell(ctx context.Context, path string, now Fingerprint) bool {
	if !s.Cache.tell(path, now) {
		return false
	}
	s.hold(ctx, event{dropped: func() { s.Cache.untell(path, now) }})
	return true
}

// nowhere stands for a file that is gone.
var nowhere = Fingerprint{Size: -1}

// tell notes that a change of a file is told, and reports whether it is news.
func (c *FileReadCache) tell(path string, now Fingerprint) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	key, known := c.byPath[path]
	if !known {
		return false
	}
	r := c.entries[key].Value.(*record)
	if r.told != nil && *r.told == now {
		return false
	}
	r.told = &now
	return true
}

// untell undoes tell.
func (c *FileReadCache) untell(path string, now Fingerprint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.findPath(path); r != nil && r.told != nil && *r.told == now {
		r.told = nil
	}
}

// shownFile is a name under which a file was given out, with the stat data of
// that time.
type shownFile struct {
	path string
	Fingerprint
}

// shown returns the files that were read or written, sorted by path. One that
// changed while it was read, so that no stat data goes with it, is left out.
func (c *FileReadCache) shown() []shownFile {
	c.mu.Lock()
	defer c.mu.Unlock()
	files := make([]shownFile, 0, len(c.byPath))
	for path, key := range c.byPath {
		r := c.entries[key].Value.(*record)
		if !r.LastReadAt.IsZero() && r.Size >= 0 {
			files = append(files, shownFile{path, r.Fingerprint})
		}
	}
	slices.SortFunc(files, func(a, b shownFile) int { return strings.Compare(a.path, b.path) })
	return files
}
