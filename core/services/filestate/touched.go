package filestate

import (
	"context"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Touched checks, by stat alone, for files that the conversation has received and that have changed
// or disappeared since, for example by a command of another process. It returns their absolute
// paths, sorted, and reports each change once. The recorded state stays, so that a change based on
// it is refused with the current state of the file, and not as a change of an unread file. resolve
// converts such a path into a path inside the workspace; files that it refuses, and files whose
// stat fails, are skipped. When ctx ends it returns the files found so far. With the cache disabled
// it returns none.
//
// An empty result is not proof: a mutation verifies by hash.
func (s *Service) Touched(ctx context.Context, resolve func(path string) (workspace.Path, error)) (changed, gone []string) {
	if s.ApplyKillSwitch() {
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
		case fault.CodeOf(err) == fault.FileNotFound && s.report(ctx, known.path, nowhere):
			gone = append(gone, known.path)
		case err == nil && known.fingerprint != fingerprintOf(info) && s.report(ctx, known.path, fingerprintOf(info)):
			changed = append(changed, known.path)
		}
	}
	return changed, gone
}

// report records that a change of a file is reported, and returns whether it is new. It is new
// again if the report is dropped.
func (s *Service) report(ctx context.Context, path string, now fingerprint) bool {
	if !s.Cache.report(path, now) {
		return false
	}
	s.hold(ctx, event{dropped: func() { s.Cache.unreport(path, now) }})
	return true
}

// nowhere is the fingerprint of a file that is gone.
var nowhere = fingerprint{size: -1}

// report records that a change of a file is reported, and returns whether it is new.
func (c *FileReadCache) report(path string, now fingerprint) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	key, known := c.byPath[path]
	if !known {
		return false
	}
	r := c.entries[key].Value.(*record)
	if r.reported != nil && *r.reported == now {
		return false
	}
	r.reported = &now
	return true
}

// unreport undoes report.
func (c *FileReadCache) unreport(path string, now fingerprint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.findPath(path); r != nil && r.reported != nil && *r.reported == now {
		r.reported = nil
	}
}

// shownFile is a name under which a file was shown, with its stat data at that time.
type shownFile struct {
	path string
	fingerprint
}

// shown returns the files that were read or written, sorted by path. Files that changed during the
// read, and so have no stat data, are omitted.
func (c *FileReadCache) shown() []shownFile {
	c.mu.Lock()
	defer c.mu.Unlock()
	files := make([]shownFile, 0, len(c.byPath))
	for path, key := range c.byPath {
		r := c.entries[key].Value.(*record)
		if !r.LastReadAt.IsZero() && r.size >= 0 {
			files = append(files, shownFile{path, r.fingerprint})
		}
	}
	slices.SortFunc(files, func(a, b shownFile) int { return strings.Compare(a.path, b.path) })
	return files
}
