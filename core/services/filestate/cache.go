package filestate

import (
	"container/list"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// FileReadCache remembers, for one conversation, which files were shown and
// as what (RC). It holds hashes and stat data, never content, opens no file,
// and is safe for concurrent use. Its zero value keeps 10,000 entries; past
// that the least recently used is dropped, which only costs a re-read (RC-34).
type FileReadCache struct {
	Max int // entries kept; 0 means 10,000. Set before first use.

	mu      sync.Mutex
	entries map[Key]*list.Element // of *record
	byPath  map[string]Key        // last key seen for a path (RC-03)
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
}

// Check compares stat data with what is known of the file (RC-06).
func (c *FileReadCache) Check(path string, info workspace.Info) (Verdict, Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.find(keyOf(path, info))
	if r == nil {
		return VerdictUnknown, Entry{}
	}
	if r.Fingerprint != fingerprintOf(info) {
		return VerdictStale, r.snapshot()
	}
	return VerdictFresh, r.snapshot()
}

// Lookup returns what is known of the file at path: by its identity, else by
// the last identity that the path had (RC-03). The second result is false if
// nothing is known.
func (c *FileReadCache) Lookup(path string, info workspace.Info) (Entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.find(keyOf(path, info))
	if r == nil {
		r = c.findPath(path)
	}
	if r == nil {
		return Entry{}, false
	}
	return r.snapshot(), true
}

// ByPath returns what is known of the file that was last seen at path.
func (c *FileReadCache) ByPath(path string) (Entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.findPath(path); r != nil {
		return r.snapshot(), true
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
	NonText    bool
	Unshowable bool // a line shown was cut inside
}

// RecordRead notes that a read emitted content under version, and returns
// the entry as it then stands. With the content unchanged a true flag is
// never lowered by a later, lesser read (RC-08); with changed content flags
// and coverage become what this read supplied (RC-09). Content is known by
// its hash where both have one, else by the fingerprint.
func (c *FileReadCache) RecordRead(path string, rd Reading, version int64) Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := keyOf(path, rd.Info)
	r := c.find(key)
	if r == nil {
		if old := c.findPath(path); old != nil && rd.SHA256 != "" && old.SHA256 == rd.SHA256 {
			r = c.rekey(old, path, key)
		}
	}
	if r == nil {
		r = c.insert(key)
	}
	drifted := r.Fingerprint != fingerprintOf(rd.Info)
	if r.SHA256 != "" && rd.SHA256 != "" {
		drifted = r.SHA256 != rd.SHA256
	}
	if drifted {
		r.LastReadWasFull, r.LastReadCacheable = false, false
		r.whole, r.Unshowable, r.covered = false, false, coverage{}
	}
	r.Fingerprint = fingerprintOf(rd.Info)
	r.local = rd.Local
	if drifted || rd.SHA256 != "" {
		r.SHA256 = rd.SHA256
		r.TotalLines = rd.TotalLines
	}
	r.NonText = rd.NonText
	r.Unshowable = r.Unshowable || rd.Unshowable
	if rd.Cacheable {
		r.LastReadCacheable = true
		if !rd.Unshowable {
			r.covered.add(rd.First, rd.End)
		}
		if rd.Full {
			r.whole, r.wholeVersion = true, version
		}
		r.LastReadWasFull = r.LastReadWasFull || rd.Full || (!r.Unshowable && r.covered.whole(rd.TotalLines))
	}
	r.LastReadAt = rd.At
	r.Version = version
	c.seq++
	r.readSeq = c.seq
	c.link(path, key, r)
	return r.snapshot()
}

// RecordWrite notes that the conversation's own bytes were written and that
// it therefore knows them all (RC-10). All paths of the file move to its new
// inode; the old key is dropped (RC-11).
func (c *FileReadCache) RecordWrite(path string, info workspace.Info, sha string, version int64, lines int, at time.Time) Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := keyOf(path, info)
	r := c.find(key)
	if old := c.findPath(path); old != nil && old.Key != key {
		if r != nil {
			c.drop(r)
		}
		c.rename(old, key)
		r = old
	}
	if r == nil {
		r = c.insert(key)
	}
	r.Fingerprint = fingerprintOf(info)
	r.SHA256 = sha
	r.Version = version
	r.TotalLines = lines
	r.LastReadAt, r.LastWriteAt = at, at
	r.LastReadWasFull, r.LastReadCacheable = true, true
	r.NonText, r.Unshowable = false, false
	r.whole, r.wholeVersion = true, version
	r.covered = coverage{}
	r.covered.add(0, lines)
	c.seq++
	r.readSeq, r.writeSeq = c.seq, c.seq
	c.link(path, key, r)
	return r.snapshot()
}

// Refresh notes that the bytes at path hash as known although its stat data
// or its inode moved (RC-07, CR-15). It does nothing if sha is not what is
// known.
func (c *FileReadCache) Refresh(path string, info workspace.Info, sha string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := keyOf(path, info)
	r := c.find(key)
	if r == nil {
		old := c.findPath(path)
		if old == nil || old.SHA256 != sha {
			return
		}
		r = c.rekey(old, path, key)
	}
	if r.SHA256 != sha {
		return
	}
	r.Fingerprint = fingerprintOf(info)
	c.link(path, key, r)
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
	for _, r := range []*record{c.find(keyOf(path, info)), c.findPath(path)} {
		if r != nil {
			r.LastReadWasFull, r.LastReadCacheable, r.whole = false, false, false
			r.covered = coverage{}
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
	c.entries, c.byPath = nil, nil
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

func (c *FileReadCache) insert(key Key) *record {
	if c.entries == nil {
		c.entries = make(map[Key]*list.Element)
		c.byPath = make(map[string]Key)
	}
	limit := c.Max
	if limit <= 0 {
		limit = defaultCacheSize
	}
	for len(c.entries) >= limit {
		c.drop(c.lru.Back().Value.(*record))
	}
	r := &record{Entry: Entry{Key: key}, paths: make(map[string]struct{}, 1)}
	c.entries[key] = c.lru.PushFront(r)
	return r
}

// link makes path lead to r and takes it from the entry that had it before,
// which goes when it has no other path.
func (c *FileReadCache) link(path string, key Key, r *record) {
	if old := c.findPath(path); old != nil && old != r {
		delete(old.paths, path)
		if len(old.paths) == 0 {
			c.drop(old)
		}
	}
	c.byPath[path] = key
	r.paths[path] = struct{}{}
	c.lru.MoveToFront(c.entries[r.Key])
}

// rekey gives the knowledge of old to a file of another inode that now stands
// at path: the entry moves if path was its only name, else it is copied.
func (c *FileReadCache) rekey(old *record, path string, key Key) *record {
	if len(old.paths) == 1 {
		c.rename(old, key)
		return old
	}
	r := c.insert(key)
	paths := r.paths
	r.Entry = old.snapshot()
	r.Key, r.paths = key, paths
	return r
}

func (c *FileReadCache) rename(r *record, key Key) {
	el := c.entries[r.Key]
	delete(c.entries, r.Key)
	r.Key = key
	c.entries[key] = el
	for p := range r.paths {
		c.byPath[p] = key
	}
}

func (c *FileReadCache) drop(r *record) {
	for p := range r.paths {
		delete(c.byPath, p)
	}
	c.lru.Remove(c.entries[r.Key])
	delete(c.entries, r.Key)
}

func (r *record) snapshot() Entry {
	e := r.Entry
	e.covered = r.covered.clone()
	return e
}
