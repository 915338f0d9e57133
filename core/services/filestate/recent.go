package filestate

import (
	"cmp"
	"slices"
)

// Recent returns the paths of the files of which the conversation has received every byte, by
// reading or by writing them, most recently used first. A file with several names is listed under
// the first of them. Recent does not count as a use, and opens no file.
func (c *FileReadCache) Recent() []string {
	return c.pathsOf(func(r *record) bool { return r.qualifying() })
}

// Written returns, in the order of Recent, the paths of the files that the conversation has
// written, as far as they are still recorded.
func (c *FileReadCache) Written() []string {
	return c.pathsOf(func(r *record) bool { return !r.lastWriteAt.IsZero() })
}

func (c *FileReadCache) pathsOf(counts func(r *record) bool) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var known []*record
	for el := c.lru.Front(); el != nil; el = el.Next() {
		if r := el.Value.(*record); counts(r) {
			known = append(known, r)
		}
	}
	slices.SortFunc(known, func(a, b *record) int { return cmp.Compare(b.seq, a.seq) })
	paths := make([]string, 0, len(known))
	for _, r := range known {
		first := ""
		for path := range r.paths {
			if first == "" || path < first {
				first = path
			}
		}
		paths = append(paths, first)
	}
	return paths
}
