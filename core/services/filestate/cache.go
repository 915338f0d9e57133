package filestate

import (
	"container/list"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/services/textfile"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// FileReadCache records, for one conversation, which files were shown and in which state. It stores
// hashes and stat data, never content, which a [BaseStore] stores; it opens no file, and is safe
// for concurrent use. Its zero value keeps 10,000 entries; beyond that the least recently used is
// dropped, which only costs another read.
type FileReadCache struct {
	max int // entries kept; 0 means 10,000. Set before first use.

	mu      sync.Mutex
	entries map[fileKey]*list.Element // of *record
	byPath  map[string]fileKey        // last key seen for a path
	given   map[string]struct{}       // hashes of contents that the conversation has received completely
	offers  []retry                   // the oldest first
	refused int                       // number of offers since the cache was created
	lru     list.List                 // most recently used first
	seq     uint64
	stats   cacheStats
}

// cacheStats counts lookups and their results.
type cacheStats struct {
	hits         int64 // full reads answered with a placeholder
	misses       int64 // full reads answered with content
	statFailures int64
	rejections   int64 // changes refused by the prior-read decision
}

type record struct {
	Entry
	paths    map[string]struct{}
	reported *fingerprint // the change that Touched has reported last; nil: none
}

// Check compares stat data with the recorded state of the file.
func (c *FileReadCache) Check(path string, info workspace.Info) (Verdict, Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.identify(path, info, "")
	if r == nil {
		return VerdictUnknown, Entry{}
	}
	if r.fingerprint != fingerprintOf(info) {
		return VerdictStale, r.Entry
	}
	return VerdictFresh, r.Entry
}

// lookup returns the entry of the file at path: by its identity, or else by the last identity of
// the path. The second result is false if there is no entry.
func (c *FileReadCache) lookup(path string, info workspace.Info) (Entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.identify(path, info, "")
	if r == nil {
		r = c.findPath(path)
	}
	if r == nil {
		return Entry{}, false
	}
	return r.Entry, true
}

// ByPath returns the entry of the file that was last seen at path.
func (c *FileReadCache) ByPath(path string) (Entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.findPath(path); r != nil {
		return r.Entry, true
	}
	return Entry{}, false
}

// reading describes one read.
type reading struct {
	info       workspace.Info // from the descriptor that the bytes were read from
	local      bool           // on a file system with trustworthy times
	sha        string         // of all bytes; "" if they were not all read or are not text
	at         time.Time      // just before the bytes were read
	first, end int            // lines shown, 0-based, half-open
	totalLines int
	full       bool // this read showed the whole content
	cacheable  bool // text that survives decoding and encoding, read without interference
	torn       bool // the file changed during the read, so info does not belong to the bytes
	nonText    bool
	unshowable bool // a line was truncated
}

// RecordRead records that the conversation was shown the whole text of snap under version, 0 for
// none, and returns the resulting entry.
func (c *FileReadCache) RecordRead(path string, snap *Snapshot, version int64) Entry {
	return c.recordRead(path, snap.whole(textfile.Lines(textfile.DecodeShared(snap.Data).Text)), version)
}

// recordRead records that a read showed content under version, 0 for none, and returns the
// resulting entry. If the content is unchanged, a later partial read never clears a flag that is
// set. If the content has changed, flags and coverage are those of this read. Contents are compared
// by hash if both have one, otherwise by the fingerprint.
func (c *FileReadCache) recordRead(path string, rd reading, version int64) Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.meet(path, rd)
	c.seq++
	r.show(rd, version, c.seq)
	return r.Entry
}

// foresee returns the entry that recordRead would return for read if held, the pending reads of the
// same file, had been recorded before it. It records nothing.
func (c *FileReadCache) foresee(read heldRead, held []*heldRead) Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	path, rd := read.path.String(), read.reading
	var e Entry
	if r := c.identify(path, rd.info, rd.sha); r != nil {
		e = r.Entry
	} else if r := c.findPath(path); r != nil && rd.sha != "" && r.SHA256 == rd.sha {
		e = r.Entry
	}
	for _, h := range held {
		e.meet(h.reading)
		e.show(h.reading, h.version, c.seq+1)
	}
	e.meet(rd)
	e.show(rd, read.version, c.seq+1)
	return e
}

// Track records the hash of the bytes that a tracker observed in the file at path. It does not
// count as a read: it sets no flag and enables no placeholder. Flags that belong to other bytes are
// cleared.
func (c *FileReadCache) Track(path string, snap *Snapshot) {
	rd := snap.whole(0)
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.meet(path, rd)
	r.trackedSeq = r.seq
}

// ClaimRead reports whether the file at path was read or written since the last ClaimRead or
// [FileReadCache.Track] of it. If so, the hash of the bytes shown is known and need not be computed
// again.
func (c *FileReadCache) ClaimRead(path string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.findPath(path)
	if r == nil || r.SHA256 == "" || r.trackedSeq == r.seq {
		return false
	}
	r.trackedSeq = r.seq
	return true
}

// RecordWrite records that the conversation's own bytes were written, so that it knows all of them.
// All paths of the file move to its new inode; the old key is dropped.
func (c *FileReadCache) RecordWrite(path string, info workspace.Info, sha string, version int64, lines int, at time.Time) Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.write(path, info, sha, lines, at)
	r.know(version)
	return r.Entry
}

// recordUnseenWrite records a write of bytes that the conversation does not know, such as a
// proposal that the user has edited. The entry does not qualify until the bytes are shown.
func (c *FileReadCache) recordUnseenWrite(path string, info workspace.Info, sha string, lines int, at time.Time) Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.write(path, info, sha, lines, at).Entry
}

// knowWrite marks as known the bytes of a write for which recordUnseenWrite has returned e. It has
// no effect if the file has changed since.
func (c *FileReadCache) knowWrite(path string, e Entry, version int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.findPath(path); r != nil && r.SHA256 == e.SHA256 && r.writeSeq == e.writeSeq {
		r.know(version)
	}
}

// write records a write of bytes that the conversation does not know. The caller holds c.mu.
func (c *FileReadCache) write(path string, info workspace.Info, sha string, lines int, at time.Time) *record {
	key := keyOf(path, info)
	r := c.findPath(path)
	if r == nil {
		r = c.join(path, info, sha)
	}
	if r == nil {
		r = c.insert(key)
	}
	c.rename(r, key)
	r.fingerprint = fingerprintOf(info)
	r.SHA256 = sha
	r.totalLines = lines
	r.LastReadAt, r.lastWriteAt = at, at
	r.nonText, r.unshowable = false, false
	r.forgetContent()
	c.seq++
	r.seq, r.writeSeq = c.seq, c.seq
	c.link(path, r)
	return r
}

// refresh records that the bytes at path still have the recorded hash although its stat data or its
// inode changed. It has no effect if sha differs from the recorded hash.
func (c *FileReadCache) refresh(path string, info workspace.Info, sha string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := keyOf(path, info)
	if r := c.identify(path, info, sha); r != nil && r.SHA256 != sha {
		return
	}
	r := c.join(path, info, sha)
	if r == nil {
		r = c.adopt(path, key, sha)
	}
	if r == nil {
		return
	}
	r.fingerprint = fingerprintOf(info)
	c.link(path, r)
}

// verified records that the bytes were verified by hash at a time, so that a racily clean entry
// stops being one once its times have aged.
func (c *FileReadCache) verified(path string, info workspace.Info, sha string, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.find(keyOf(path, info))
	if r == nil || r.SHA256 != sha {
		return
	}
	r.fingerprint = fingerprintOf(info)
	r.LastReadAt = at
}

// disqualify clears the flags of the file at path, because it no longer has the content that was
// shown.
func (c *FileReadCache) disqualify(path string, info workspace.Info) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range []*record{c.identify(path, info, ""), c.findPath(path)} {
		if r != nil {
			r.forgetContent()
		}
	}
}

// namesOf returns the paths at which the file that info describes was seen; none if it is unknown at
// path and has changed.
func (c *FileReadCache) namesOf(path string, info workspace.Info) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.identify(path, info, "")
	if r == nil {
		return nil
	}
	return slices.Collect(maps.Keys(r.paths))
}

// Invalidate removes the entry of the file last seen at path. A file that was never seen is not an
// error.
func (c *FileReadCache) Invalidate(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.findPath(path); r != nil {
		c.drop(r)
	}
}

// Clear removes all entries; the counts stay.
func (c *FileReadCache) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries, c.byPath, c.given, c.offers = nil, nil, nil, nil
	c.lru.Init()
}

// Len returns the number of entries.
func (c *FileReadCache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}

// counts returns the counts since the cache was created.
func (c *FileReadCache) counts() cacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

func (c *FileReadCache) count(f func(*cacheStats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.stats)
}

// The methods below require c.mu to be held.

func (c *FileReadCache) find(key fileKey) *record {
	el := c.entries[key]
	if el == nil {
		return nil
	}
	c.lru.MoveToFront(el)
	return el.Value.(*record)
}

func (c *FileReadCache) findPath(path string) *record {
	key, ok := c.byPath[path]
	if !ok {
		return nil
	}
	return c.find(key)
}

func (c *FileReadCache) limit() int {
	if c.max <= 0 {
		return defaultCacheSize
	}
	return c.max
}

// insert adds a record; the one that had its key releases it. The caller links a path to it.
func (c *FileReadCache) insert(key fileKey) *record {
	if c.entries == nil {
		c.entries = make(map[fileKey]*list.Element)
		c.byPath = make(map[string]fileKey)
	}
	c.release(key)
	for len(c.entries) >= c.limit() {
		c.drop(c.lru.Back().Value.(*record))
	}
	r := &record{Entry: Entry{key: key}, paths: make(map[string]struct{}, 1)}
	c.entries[key] = c.lru.PushFront(r)
	return r
}

// identify returns the record of the file that info describes, nil if there is none. A file system
// reuses the inode number of a removed file. Under a name that the record does not have, the file
// is the same only if it has the recorded size and mtime, or the same bytes.
func (c *FileReadCache) identify(path string, info workspace.Info, sha string) *record {
	r := c.find(keyOf(path, info))
	if r == nil {
		return nil
	}
	_, named := r.paths[path]
	if named || r.size == info.Size && r.mtimeNS == info.MtimeNS || sha != "" && r.SHA256 == sha {
		return r
	}
	return nil
}

// join returns the record of the file that info describes, to be linked to path; nil if there is none.
// A file with one hard link that is not exactly in the recorded state, under a name that the record
// does not have, may be another file: with the inode number of a removed one and the same bytes. It
// gets a copy, so that a write of it is not recorded for the other name.
func (c *FileReadCache) join(path string, info workspace.Info, sha string) *record {
	r := c.identify(path, info, sha)
	if r == nil || info.Nlink != 1 || r.fingerprint == fingerprintOf(info) {
		return r
	}
	if _, named := r.paths[path]; named {
		return r
	}
	return c.copied(r, r.key)
}

// copied returns a copy of r with a key and no path.
func (c *FileReadCache) copied(r *record, key fileKey) *record {
	e := r.Entry
	e.key = key
	n := c.insert(key)
	n.Entry = e
	return n
}

// meet returns the record of the file that was read, linked to path and updated with its stat data
// and hash. State that belongs to different content is cleared.
func (c *FileReadCache) meet(path string, rd reading) *record {
	key := keyOf(path, rd.info)
	r := c.join(path, rd.info, rd.sha)
	if r == nil {
		r = c.adopt(path, key, rd.sha)
	}
	if r == nil {
		r = c.insert(key)
	}
	c.link(path, r)
	r.meet(rd)
	return r
}

// adopt transfers the entry of path to a different inode with the same bytes, and returns nil if
// the bytes differ. The record moves if path was its only name, otherwise it is copied.
func (c *FileReadCache) adopt(path string, key fileKey, sha string) *record {
	old := c.findPath(path)
	if old == nil || sha == "" || old.SHA256 != sha {
		return nil
	}
	if len(old.paths) == 1 {
		c.rename(old, key)
		return old
	}
	return c.copied(old, key)
}

// link makes path refer to r. The record that path referred to before is dropped if it has no other
// path.
func (c *FileReadCache) link(path string, r *record) {
	if old := c.findPath(path); old != nil && old != r {
		delete(old.paths, path)
		if len(old.paths) == 0 {
			c.drop(old)
		}
	}
	c.byPath[path] = r.key
	r.paths[path] = struct{}{}
}

// rename changes the key of r; the record that had it releases it.
func (c *FileReadCache) rename(r *record, key fileKey) {
	if r.key == key {
		return
	}
	c.release(key)
	el := c.entries[r.key]
	delete(c.entries, r.key)
	r.key = key
	c.entries[key] = el
	for p := range r.paths {
		c.byPath[p] = key
	}
}

// release takes key from the record that has it, because another file has that inode number now, or
// had it when a read began that is recorded only now. The conversation still knows what it has
// received at the record's paths, so the record stays under one of them.
func (c *FileReadCache) release(key fileKey) {
	el := c.entries[key]
	if el == nil {
		return
	}
	r := el.Value.(*record)
	for p := range r.paths {
		own := fileKey{path: p}
		if c.entries[own] == nil {
			c.rename(r, own)
			return
		}
	}
	c.drop(r)
}

func (c *FileReadCache) drop(r *record) {
	for p := range r.paths {
		delete(c.byPath, p)
	}
	c.lru.Remove(c.entries[r.key])
	delete(c.entries, r.key)
}
