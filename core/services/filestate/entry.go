package filestate

import (
	"time"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Key identifies a file in the cache: device and inode, or, on platforms without a reliable inode,
// the path.
type fileKey struct {
	dev, ino uint64
	path     string // set only when Dev and Ino are zero
}

func keyOf(path string, info workspace.Info) fileKey {
	if info.Ino == 0 && info.Dev == 0 {
		return fileKey{path: path}
	}
	return fileKey{dev: info.Dev, ino: info.Ino}
}

// fingerprint is the stat data that makes the common check cheap. Equal fingerprints are a hint;
// equal hashes are proof.
type fingerprint struct {
	size, mtimeNS int64
	ctimeNS       int64 // 0 if the platform has none
}

func fingerprintOf(info workspace.Info) fingerprint {
	return fingerprint{size: info.Size, mtimeNS: info.MtimeNS, ctimeNS: info.CtimeNS}
}

// Entry is the cache's record of one file.
type Entry struct {
	key fileKey
	fingerprint
	SHA256            string // of the bytes shown; "" for a payload that is not text
	version           int64  // the version under which content was shown last
	LastReadAt        time.Time
	lastWriteAt       time.Time
	LastReadWasFull   bool // every byte was shown, in one read or in slices
	LastReadCacheable bool // and the bytes are text that survives decoding and encoding

	nonText    bool // last shown as a data part or a refusal
	totalLines int  // of the content with the hash SHA256
	unshowable bool // one line exceeds the limit, so slices can never cover the file
	changed    bool // the file was found changed, and was not shown since

	// Reads and writes are ordered by a counter, independently of the clock.
	seq         uint64 // of the last read or write; 0: none
	writeSeq    uint64 // of the last write
	fullSeq     uint64 // of the last full read that showed everything; 0: none of this content
	fullVersion int64  // the version under which that read showed it
	trackedSeq  uint64 // seq at the last call of a tracker
	local       bool   // on a file system with trustworthy times
	covered     coverage
}

// qualifying reports whether the conversation has received every byte.
func (e Entry) qualifying() bool {
	return !e.LastReadAt.IsZero() && e.LastReadWasFull && e.LastReadCacheable
}

// missing returns the 0-based half-open line ranges not shown yet.
func (e Entry) missing() [][2]int { return e.covered.missing(e.totalLines) }

// armed reports whether a full read may be answered with a placeholder, as far as the entry itself
// shows: a full read since the last write showed everything. Ranged and truncated reads do not arm.
func (e Entry) armed() bool {
	return e.qualifying() && e.fullSeq > e.writeSeq
}

// racy reports whether the file could have changed after its read without a change of its times:
// they are too close to the read, after it, or from a remote file system.
func (e Entry) racy(margin time.Duration) bool {
	limit := e.LastReadAt.Add(-margin).UnixNano()
	return !e.local || e.mtimeNS > limit || e.ctimeNS > limit
}

// meet records the stat data and the hash of a read. State that belongs to different content is
// cleared.
func (e *Entry) meet(rd reading) {
	drifted := e.fingerprint != fingerprintOf(rd.info)
	if e.SHA256 != "" && rd.sha != "" {
		drifted = e.SHA256 != rd.sha
	}
	if drifted {
		e.forgetContent()
		e.nonText, e.unshowable = false, false
	}
	if drifted || rd.sha != "" {
		e.SHA256, e.totalLines = rd.sha, rd.totalLines
	}
	e.local = rd.local
	e.fingerprint = fingerprintOf(rd.info)
	if rd.torn {
		e.fingerprint = fingerprint{size: -1} // matches no file
	}
}

// show records that the content of a read is shown under version, 0 for none.
func (e *Entry) show(rd reading, version int64, seq uint64) {
	e.seq = seq
	e.LastReadAt = rd.at
	e.changed = false
	e.nonText = rd.nonText
	e.unshowable = e.unshowable || rd.unshowable
	if version != 0 {
		e.version = version
	}
	if !rd.cacheable {
		return
	}
	e.LastReadCacheable = true
	if !rd.unshowable {
		e.covered.add(rd.first, rd.end)
	}
	if rd.full {
		e.fullSeq, e.fullVersion = seq, version
	}
	e.LastReadWasFull = e.LastReadWasFull || rd.full || (!e.unshowable && e.covered.whole(rd.totalLines))
}

// know records that every byte of the last write is known under version.
func (e *Entry) know(version int64) {
	e.version = version
	e.LastReadWasFull, e.LastReadCacheable, e.changed = true, true, false
	e.covered = coverage{}
	e.covered.add(0, e.totalLines)
}

// forgetContent clears the flags that state that the content was shown.
func (e *Entry) forgetContent() {
	e.LastReadWasFull, e.LastReadCacheable = false, false
	e.fullSeq, e.covered = 0, coverage{}
	e.changed = !e.LastReadAt.IsZero()
}

// Verdict is the result of [FileReadCache.Check].
type Verdict string

// The verdicts.
const (
	VerdictUnknown Verdict = "unknown" // no entry for this file
	VerdictStale   Verdict = "stale"   // size, mtime or ctime differ
	VerdictFresh   Verdict = "fresh"   // all three match
)
