package filestate

import (
	"time"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Key identifies a file in the cache: device and inode, or, where the
// platform has no dependable inode, the path (RC-01, RC-04).
type Key struct {
	Dev, Ino uint64
	Path     string // set only when Dev and Ino are zero
}

func keyOf(path string, info workspace.Info) Key {
	if info.Ino == 0 && info.Dev == 0 {
		return Key{Path: path}
	}
	return Key{Dev: info.Dev, Ino: info.Ino}
}

// Fingerprint is the stat data that makes the common answer cheap. Equal
// fingerprints are a hint, equal hashes the truth (CR-01).
type Fingerprint struct {
	Size, MtimeNS int64
	CtimeNS       int64 // 0 where the platform has none
}

func fingerprintOf(info workspace.Info) Fingerprint {
	return Fingerprint{Size: info.Size, MtimeNS: info.MtimeNS, CtimeNS: info.CtimeNS}
}

// Entry is what the cache knows of one file (RC-05).
type Entry struct {
	Key Key
	Fingerprint
	SHA256            string // of the bytes shown; "" for a payload that is not text
	Version           int64  // under which content was last given out
	LastReadAt        time.Time
	LastWriteAt       time.Time
	LastReadWasFull   bool // every byte was shown, at once or in slices
	LastReadCacheable bool // and the bytes are text that survives decode and encode

	NonText    bool // last shown as a data part or a refusal
	TotalLines int  // of the content SHA256 stands for
	Unshowable bool // a line alone exceeds the limit, so slices can never cover the file
	Changed    bool // was found to hold other bytes than those shown, and was not shown since

	// Reads and writes are put in order by a count, whatever the clock says (RC-12).
	seq         uint64 // of the last read or write; 0: none
	writeSeq    uint64 // of the last write
	fullSeq     uint64 // of the last full read that emitted everything; 0: none of this content
	fullVersion int64  // under which that read emitted it
	trackedSeq  uint64 // seq when a tracker last asked
	local       bool   // on a file system whose times can be trusted
	covered     coverage
}

// Qualifying reports whether the conversation has been given every byte
// (PR-03).
func (e Entry) Qualifying() bool {
	return !e.LastReadAt.IsZero() && e.LastReadWasFull && e.LastReadCacheable
}

// Missing returns the 0-based half-open line ranges not shown yet.
func (e Entry) Missing() [][2]int { return e.covered.missing(e.TotalLines) }

// armed reports whether a full read may be answered by a placeholder, as far
// as the entry itself can tell: a full read since the last write emitted
// everything (RC-13, RC-14). Ranged and cut reads do not arm (RC-15, RC-16).
func (e Entry) armed() bool {
	return e.Qualifying() && e.fullSeq > e.writeSeq
}

// racy reports whether the file could have changed after its read without a
// change of its times: they lie too close to the read, after it, or on a file
// system that is served from elsewhere.
func (e Entry) racy(margin time.Duration) bool {
	limit := e.LastReadAt.Add(-margin).UnixNano()
	return !e.local || e.MtimeNS > limit || e.CtimeNS > limit
}

// meet notes the stat data and the hash of what is read now. What belongs to other
// content is dropped.
func (e *Entry) meet(rd Reading) {
	drifted := e.Fingerprint != fingerprintOf(rd.Info)
	if e.SHA256 != "" && rd.SHA256 != "" {
		drifted = e.SHA256 != rd.SHA256
	}
	if drifted {
		e.forgetContent()
		e.NonText, e.Unshowable = false, false
	}
	if drifted || rd.SHA256 != "" {
		e.SHA256, e.TotalLines = rd.SHA256, rd.TotalLines
	}
	e.local = rd.Local
	e.Fingerprint = fingerprintOf(rd.Info)
	if rd.Torn {
		e.Fingerprint = Fingerprint{Size: -1} // matches no file
	}
}

// show notes that what was read is shown under version, 0 for none.
func (e *Entry) show(rd Reading, version int64, seq uint64) {
	e.seq = seq
	e.LastReadAt = rd.At
	e.Changed = false
	e.NonText = rd.NonText
	e.Unshowable = e.Unshowable || rd.Unshowable
	if version != 0 {
		e.Version = version
	}
	if !rd.Cacheable {
		return
	}
	e.LastReadCacheable = true
	if !rd.Unshowable {
		e.covered.add(rd.First, rd.End)
	}
	if rd.Full {
		e.fullSeq, e.fullVersion = seq, version
	}
	e.LastReadWasFull = e.LastReadWasFull || rd.Full || (!e.Unshowable && e.covered.whole(rd.TotalLines))
}

// know notes that every byte of the last write is known under version.
func (e *Entry) know(version int64) {
	e.Version = version
	e.LastReadWasFull, e.LastReadCacheable, e.Changed = true, true, false
	e.covered = coverage{}
	e.covered.add(0, e.TotalLines)
}

// forgetContent drops what says that the content was shown.
func (e *Entry) forgetContent() {
	e.LastReadWasFull, e.LastReadCacheable = false, false
	e.fullSeq, e.covered = 0, coverage{}
	e.Changed = !e.LastReadAt.IsZero()
}

// Verdict is the answer of [FileReadCache.Check].
type Verdict string

// The verdicts (RC-06).
const (
	VerdictUnknown Verdict = "unknown" // no entry for this file
	VerdictStale   Verdict = "stale"   // size, mtime or ctime differ
	VerdictFresh   Verdict = "fresh"   // all three match
)
