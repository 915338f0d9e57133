package filestate

import (
	"container/list"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// FileReadCache remembers, for one conversation, which files were shown and
// as what (RC). It holds hashes and stat data, never content, which is for a
// [BaseStore] to hold, opens no file, and is safe for concurrent use. Its zero value keeps 10,000 entries; past
// that the least recently used is dropped, which only costs a re-read (RC-34).
type FileReadCache struct {
	Max int // entries kept; 0 means 10,000. Set before first use.

	mu      sync.Mutex
	entries map[Key]*list.Element // of *record
	byPath  map[string]Key        // last key seen for a path (RC-03)
	given   map[string]struct{}   // hashes of which the conversation was given every byte
	lru     list.List             // most recently used first
	seq     uint64
	stats   CacheStats
}

// CacheStats counts what the cache was asked and answered (RC-33).
type CacheStats struct {
	Hits         int64 // full reads answered by a placeholder
	Misses       int64 // full reads answered by content
	StatFailures int64
	Rejections   int64 // changes refused by the prior-read decision
}

type record struct {
	Entry
	paths map[string]struct{}
	told  *Fingerprint // the change that Touched has told last; nil: none
}

// Check compares stat data with what is known of the file (RC-06).
func (c *FileReadCache) Check(path string, info workspace.Info) (Verdict, Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.identify(path, info, "")
	if r == nil {
		return VerdictUnknown, Entry{}
	}
	if r.Fingerprint != fingerprintOf(info) {
		return VerdictStale, r.Entry
	}
	return VerdictFresh, r.Entry
}

// Lookup returns what is known of the file at path: by its identity, else by
// the last identity that the path had (RC-03). The second result is false if
// nothing is known.
func (c *FileReadCache) Lookup(path string, info workspace.Info) (Entry, bool) {
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

// ByPath returns what is known of the file that was last seen at path.
func (c *FileReadCache) ByPath(path string) (Entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.findPath(path); r != nil {
		return r.Entry, true
	}
	return Entry{}, false
}

// Reading describes one read for [FileReadCache.RecordRead].
type Reading struct {
	Info       workspace.Info // taken from the descriptor that the bytes came from (RC-20)
	Local      bool           // on a file system whose times can be trusted
	SHA256     string         // of all bytes; "" if they were not all read or are not text
	At         time.Time      // just before the bytes were read
	First, End int            // lines shown, 0-based, half-open
	TotalLines int
	Full       bool // everything was shown by this read, uncut
	Cacheable  bool // text that survives decode and encode, read without interference
	Torn       bool // the file changed while it was read, so Info is not that of the bytes (RC-20)
	NonText    bool
	Unshowable bool // a line shown was cut inside
}

// RecordRead notes that a read emitted content under version, 0 for none, and
// returns the entry as it then stands. With the content unchanged a true flag
// is never lowered by a later, lesser read (RC-08); with changed content flags
// and coverage become what this read supplied (RC-09). Content is known by
// its hash where both have one, else by the fingerprint.
func (c *FileReadCache) RecordRead(path string, rd Reading, version int64) Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.meet(path, rd)
	c.seq++
	r.show(rd, version, c.seq)
	return r.Entry
}

// foresee returns the entry that RecordRead would return for read, had those reads of
// the same file that are held back been recorded before it. It records nothing.
func (c *FileReadCache) foresee(read heldRead, held []*heldRead) Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	path, rd := read.path.String(), read.reading
	var e Entry
	if r := c.identify(path, rd.Info, rd.SHA256); r != nil {
		e = r.Entry
	} else if r := c.findPath(path); r != nil && rd.SHA256 != "" && r.SHA256 == rd.SHA256 {
		e = r.Entry
	}
	key := keyOf(path, rd.Info)
	for _, h := range held {
		if keyOf(h.path.String(), h.reading.Info) == key {
			e.meet(h.reading)
			e.show(h.reading, h.version, c.seq+1)
		}
	}
	e.meet(rd)
	e.show(rd, read.version, c.seq+1)
	return e
}

// Track notes the bytes that a tracker holds the file at path to (FT-05). It
// is no read: it raises no flag and arms no placeholder. Flags that belong to
// other bytes are dropped.
func (c *FileReadCache) Track(path string, rd Reading) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.meet(path, rd)
	r.trackedSeq = r.seq
}

// ClaimRead reports whether the file at path was read or written since the
// last ClaimRead or [FileReadCache.Track] of it, so that the hash of the bytes
// shown is known and need not be taken again (FT-04).
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

// RecordWrite notes that the conversation's own bytes were written and that
// it therefore knows them all (RC-10). All paths of the file move to its new
// inode; the old key is dropped (RC-11).
func (c *FileReadCache) RecordWrite(path string, info workspace.Info, sha string, version int64, lines int, at time.Time) Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.write(path, info, sha, lines, at)
	r.know(version)
	return r.Entry
}

// RecordUnseenWrite notes a write of bytes that the conversation does not
// know, such as those of a person who changed what it proposed: the entry does
// not qualify until they are shown (PR-30).
func (c *FileReadCache) RecordUnseenWrite(path string, info workspace.Info, sha string, lines int, at time.Time) Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.write(path, info, sha, lines, at).Entry
}

// knowWrite makes the bytes of a write known that RecordUnseenWrite has returned e
// for. It does nothing if the file is not in that state any more.
func (c *FileReadCache) knowWrite(path string, e Entry, version int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.findPath(path); r != nil && r.SHA256 == e.SHA256 && r.writeSeq == e.writeSeq {
		r.know(version)
	}
}

// write notes a write of bytes that the conversation does not know. It expects c.mu to
// be held.
func (c *FileReadCache) write(path string, info workspace.Info, sha string, lines int, at time.Time) *record {
	key := keyOf(path, info)
	r := c.findPath(path)
	if r == nil {
		r = c.identify(path, info, sha)
	}
	if r == nil {
		r = c.insert(key)
	}
	c.rename(r, key)
	r.Fingerprint = fingerprintOf(info)
	r.SHA256 = sha
	r.TotalLines = lines
	r.LastReadAt, r.LastWriteAt = at, at
	r.NonText, r.Unshowable = false, false
	r.forgetContent()
	c.seq++
	r.seq, r.writeSeq = c.seq, c.seq
	c.link(path, r)
	return r
}

// Refresh notes that the bytes at path hash as known although its stat data
// or its inode moved (RC-07, CR-15). It does nothing if sha is not what is
// known.
func (c *FileReadCache) Refresh(path string, info workspace.Info, sha string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := keyOf(path, info)
	r := c.identify(path, info, sha)
	if r == nil {
		r = c.adopt(path, key, sha)
	}
	if r == nil || r.SHA256 != sha {
		return
	}
	r.Fingerprint = fingerprintOf(info)
	c.link(path, r)
}

// Verified notes that the bytes were settled by hash at a time, so that a
// racily clean entry stops being so once its times have aged.
func (c *FileReadCache) Verified(path string, info workspace.Info, sha string, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.find(keyOf(path, info))
	if r == nil || r.SHA256 != sha {
		return
	}
	r.Fingerprint = fingerprintOf(info)
	r.LastReadAt = at
}

// Disqualify drops the flags of the file at path: what was shown is no longer
// what is there (RC-07).
func (c *FileReadCache) Disqualify(path string, info workspace.Info) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range []*record{c.identify(path, info, ""), c.findPath(path)} {
		if r != nil {
			r.forgetContent()
		}
	}
}

// Invalidate forgets the file last seen at path (RC-35). A file that was
// never seen is no error.
func (c *FileReadCache) Invalidate(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.findPath(path); r != nil {
		c.drop(r)
	}
}

// Clear forgets every file; the counts stay.
func (c *FileReadCache) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries, c.byPath, c.given = nil, nil, nil
	c.lru.Init()
}

// Len returns the number of entries.
func (c *FileReadCache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}

// Stats returns the counts since the cache was made.
func (c *FileReadCache) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

func (c *FileReadCache) count(f func(*CacheStats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.stats)
}

// The methods below expect c.mu to be held.

func (c *FileReadCache) find(key Key) *record {
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
	if c.Max <= 0 {
		return defaultCacheSize
	}
	return c.Max
}

// insert makes a record and drops the one that had its key. The caller links
// a path to it.
func (c *FileReadCache) insert(key Key) *record {
	if c.entries == nil {
		c.entries = make(map[Key]*list.Element)
		c.byPath = make(map[string]Key)
	}
	c.dropKey(key)
	for len(c.entries) >= c.limit() {
		c.drop(c.lru.Back().Value.(*record))
	}
	r := &record{Entry: Entry{Key: key}, paths: make(map[string]struct{}, 1)}
	c.entries[key] = c.lru.PushFront(r)
	return r
}

// identify returns the record of the file that info describes, nil if it is a
// stranger (RC-02). A file's inode number is given away once the file is gone:
// under a name that the record has not, only the size and mtime recorded, or
// the same bytes, show that it is still the same file.
func (c *FileReadCache) identify(path string, info workspace.Info, sha string) *record {
	r := c.find(keyOf(path, info))
	if r == nil {
		return nil
	}
	_, named := r.paths[path]
	if named || r.Size == info.Size && r.MtimeNS == info.MtimeNS || sha != "" && r.SHA256 == sha {
		return r
	}
	return nil
}

// meet returns the record of the file that was read, linked to path, with its
// stat data and hash, and without what belongs to other content.
func (c *FileReadCache) meet(path string, rd Reading) *record {
	key := keyOf(path, rd.Info)
	r := c.identify(path, rd.Info, rd.SHA256)
	if r == nil {
		r = c.adopt(path, key, rd.SHA256)
	}
	if r == nil {
		r = c.insert(key)
	}
	c.link(path, r)
	r.meet(rd)
	return r
}

// adopt gives what is known of path's bytes to the file of another inode that
// now stands there with the same bytes (CR-15); nil if they are others. What
// is known moves if path was its only name, else it is copied.
func (c *FileReadCache) adopt(path string, key Key, sha string) *record {
	old := c.findPath(path)
	if old == nil || sha == "" || old.SHA256 != sha {
		return nil
	}
	if len(old.paths) == 1 {
		c.rename(old, key)
		return old
	}
	r := c.insert(key)
	r.Entry = old.Entry
	r.Key = key
	return r
}

// link makes path lead to r and takes it from the record that had it before,
// which goes when it has no other path.
func (c *FileReadCache) link(path string, r *record) {
	if old := c.findPath(path); old != nil && old != r {
		delete(old.paths, path)
		if len(old.paths) == 0 {
			c.drop(old)
		}
	}
	c.byPath[path] = r.Key
	r.paths[path] = struct{}{}
}

// rename gives r another key and drops the record that had it.
func (c *FileReadCache) rename(r *record, key Key) {
	if r.Key == key {
		return
	}
	c.dropKey(key)
	el := c.entries[r.Key]
	delete(c.entries, r.Key)
	r.Key = key
	c.entries[key] = el
	for p := range r.paths {
		c.byPath[p] = key
	}
}

func (c *FileReadCache) dropKey(key Key) {
	if r := c.find(key); r != nil {
		c.drop(r)
	}
}

func (c *FileReadCache) drop(r *record) {
	for p := range r.paths {
		delete(c.byPath, p)
	}
	c.lru.Remove(c.entries[r.Key])
	delete(c.entries, r.Key)
}
