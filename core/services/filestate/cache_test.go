package filestate

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// infoAt describes a made-up file that was last changed an hour before noon.
func infoAt(ino uint64, size int64) workspace.Info {
	at := noon.Add(-time.Hour).UnixNano()
	return workspace.Info{Dev: 1, Ino: ino, Size: size, Nlink: 1, MtimeNS: at, CtimeNS: at}
}

func fullReading(info workspace.Info, content string) reading {
	return reading{
		info: info, local: true, at: noon, sha: Sum([]byte(content)),
		end: 1, totalLines: 1, full: true, cacheable: true,
	}
}

// firstHalf is a reading of the first of two lines.
func firstHalf(info workspace.Info, content string) reading {
	rd := fullReading(info, content)
	rd.end, rd.totalLines, rd.full = 1, 2, false
	return rd
}

// RC-06, TE-06
func TestCheckVerdicts(t *testing.T) {
	known := infoAt(5, 10)
	for name, tt := range map[string]struct {
		change func(*workspace.Info)
		want   Verdict
	}{
		"same":              {func(*workspace.Info) {}, VerdictFresh},
		"other mode, nlink": {func(i *workspace.Info) { i.Mode, i.Nlink = 0o600, 2 }, VerdictFresh},
		"size":              {func(i *workspace.Info) { i.Size++ }, VerdictStale},
		"mtime by 1 ns":     {func(i *workspace.Info) { i.MtimeNS++ }, VerdictStale},
		"ctime by 1 ns":     {func(i *workspace.Info) { i.CtimeNS++ }, VerdictStale},
		"inode":             {func(i *workspace.Info) { i.Ino++ }, VerdictUnknown},
		"device":            {func(i *workspace.Info) { i.Dev++ }, VerdictUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			var c FileReadCache
			verdict, _ := c.Check("/f", known)
			require.Equal(t, VerdictUnknown, verdict)
			c.recordRead("/f", fullReading(known, "x"), 1)
			info := known
			tt.change(&info)
			verdict, _ = c.Check("/f", info)
			require.Equal(t, tt.want, verdict)
		})
	}
}

// RC-05
func TestEntryAfterRead(t *testing.T) {
	var c FileReadCache
	info := infoAt(5, 10)
	got := c.recordRead("/f", fullReading(info, "x"), 7)
	require.Equal(t, fileKey{dev: 1, ino: 5}, got.key)
	require.Equal(t, fingerprint{size: 10, mtimeNS: info.MtimeNS, ctimeNS: info.CtimeNS}, got.fingerprint)
	require.Equal(t, Sum([]byte("x")), got.SHA256)
	require.Equal(t, int64(7), got.version)
	require.Equal(t, noon, got.LastReadAt)
	require.True(t, got.lastWriteAt.IsZero())
	require.True(t, got.LastReadWasFull)
	require.True(t, got.LastReadCacheable)
	require.False(t, got.nonText)
	require.Equal(t, 1, got.totalLines)
}

// TE-06: isolation between files
func TestFilesAreKeptApart(t *testing.T) {
	var c FileReadCache
	c.recordRead("/a", fullReading(infoAt(1, 10), "a"), 1)
	c.recordRead("/b", firstHalf(infoAt(2, 20), "b"), 2)
	a, _ := c.ByPath("/a")
	b, _ := c.ByPath("/b")
	require.True(t, a.qualifying())
	require.False(t, b.qualifying())
	c.Invalidate("/a")
	require.Equal(t, 1, c.Len())
	_, ok := c.ByPath("/b")
	require.True(t, ok)
}

// RC-04, KH-05: without an identity the path is the key.
func TestPathKeysKeepFilesApart(t *testing.T) {
	var c FileReadCache
	info := workspace.Info{Size: 3, MtimeNS: 1}
	c.recordRead("/a", fullReading(info, "a"), 1)
	verdict, _ := c.Check("/b", info)
	require.Equal(t, VerdictUnknown, verdict)
	c.recordRead("/b", fullReading(info, "b"), 2)
	require.Equal(t, 2, c.Len())
	verdict, e := c.Check("/a", info)
	require.Equal(t, VerdictFresh, verdict)
	require.Equal(t, fileKey{path: "/a"}, e.key)
	require.Equal(t, Sum([]byte("a")), e.SHA256)
}

// RC-08, TE-06: sticky flags both ways
func TestFlagsAreNotLoweredWhileContentIsTheSame(t *testing.T) {
	info := infoAt(5, 10)
	lossy := fullReading(info, "x")
	lossy.cacheable = false
	for name, lesser := range map[string]reading{"partial": firstHalf(info, "x"), "not cacheable": lossy, "no hash": {info: info, at: noon, local: true}} {
		t.Run(name, func(t *testing.T) {
			var c FileReadCache
			c.recordRead("/f", fullReading(info, "x"), 1)
			e := c.recordRead("/f", lesser, 2)
			require.True(t, e.LastReadWasFull)
			require.True(t, e.LastReadCacheable)
			require.True(t, e.qualifying())
			require.Equal(t, int64(2), e.version)
		})
	}
	// A touched file still has the same content: the hash decides.
	var c FileReadCache
	c.recordRead("/f", fullReading(info, "x"), 1)
	touched := info
	touched.MtimeNS += int64(time.Second)
	require.True(t, c.recordRead("/f", firstHalf(touched, "x"), 2).qualifying())
}

// RC-09, TE-06: drift reset
func TestFlagsFollowTheReadAfterDrift(t *testing.T) {
	old := infoAt(5, 10)
	moved := old
	moved.MtimeNS++
	nonText := reading{info: moved, local: true, at: noon, nonText: true}
	for name, tt := range map[string]struct {
		rd        reading
		full, cac bool
		missing   [][2]int
	}{
		"partial of other bytes":                 {firstHalf(old, "y"), false, true, [][2]int{{1, 2}}},
		"partial of other bytes, other stat":     {firstHalf(moved, "y"), false, true, [][2]int{{1, 2}}},
		"full of other bytes":                    {fullReading(moved, "y"), true, true, nil},
		"without a hash the fingerprint decides": {nonText, false, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var c FileReadCache
			c.recordRead("/f", fullReading(old, "x"), 1)
			e := c.recordRead("/f", tt.rd, 2)
			require.Equal(t, tt.full, e.LastReadWasFull)
			require.Equal(t, tt.cac, e.LastReadCacheable)
			require.Equal(t, tt.missing, e.missing())
			require.Equal(t, tt.rd.sha, e.SHA256)
		})
	}
}

// RC-10, TE-06: upgrade by write
func TestRecordWriteQualifies(t *testing.T) {
	info := infoAt(5, 10)
	long := reading{info: info, local: true, at: noon, sha: Sum([]byte("x")), cacheable: true, unshowable: true, end: 1, totalLines: 1}
	for name, before := range map[string]*reading{
		"new": nil, "partly read": new(firstHalf(info, "x")), "non-text": {info: info, at: noon, nonText: true}, "unshowable": &long,
	} {
		t.Run(name, func(t *testing.T) {
			var c FileReadCache
			if before != nil {
				require.False(t, c.recordRead("/f", *before, 1).qualifying())
			}
			e := c.RecordWrite("/f", info, Sum([]byte("new")), 2, 3, noon.Add(time.Minute))
			require.Equal(t, e.LastReadAt, e.lastWriteAt)
			require.Equal(t, noon.Add(time.Minute), e.lastWriteAt)
			require.True(t, e.LastReadWasFull)
			require.True(t, e.LastReadCacheable)
			require.False(t, e.nonText || e.unshowable || e.changed)
			require.Equal(t, int64(2), e.version)
			require.Empty(t, e.missing())
			require.Equal(t, 1, c.Len())
		})
	}
}

// RC-11, CR-14
func TestRecordWriteMovesAllNamesToTheNewInode(t *testing.T) {
	var c FileReadCache
	old, now := infoAt(5, 10), infoAt(6, 12)
	c.recordRead("/real", fullReading(old, "x"), 1)
	c.recordRead("/link", fullReading(old, "x"), 2)
	c.recordRead("/stranger", fullReading(now, "z"), 3) // the inode number belonged to a different file before
	c.RecordWrite("/link", now, Sum([]byte("y")), 4, 1, noon)
	require.Equal(t, 2, c.Len())
	verdict, _ := c.Check("/real", old)
	require.Equal(t, VerdictUnknown, verdict, "the old key must be gone")
	for _, path := range []string{"/real", "/link"} {
		e, ok := c.ByPath(path)
		require.True(t, ok)
		require.Equal(t, fileKey{dev: 1, ino: 6}, e.key)
		require.Equal(t, Sum([]byte("y")), e.SHA256)
	}
	e, ok := c.lookup("/stranger", infoAt(7, 12))
	require.True(t, ok, "a file that lost its inode number is still known by its path")
	require.Equal(t, Sum([]byte("z")), e.SHA256)
}

// RC-12, RC-14, KH-17: all in one tick of the clock
func TestOrderDoesNotNeedTheClock(t *testing.T) {
	var c FileReadCache
	info := infoAt(5, 10)
	require.True(t, c.recordRead("/f", fullReading(info, "x"), 1).armed())
	require.False(t, c.RecordWrite("/f", info, Sum([]byte("y")), 2, 1, noon).armed())
	require.True(t, c.recordRead("/f", fullReading(info, "y"), 3).armed())
}

// RC-15, RC-16: a partial read does not arm the placeholder, not even after a write of the
// conversation.
func TestLesserReadsDoNotArm(t *testing.T) {
	info := infoAt(5, 10)
	ranged := fullReading(info, "x")
	ranged.full = false
	for name, rd := range map[string]reading{
		"ranged over everything": ranged, "cut": firstHalf(info, "x"), "non-text": {info: info, at: noon, nonText: true},
	} {
		t.Run(name, func(t *testing.T) {
			var c FileReadCache
			require.False(t, c.recordRead("/f", rd, 1).armed())
			c.RecordWrite("/f", info, Sum([]byte("x")), 2, 1, noon)
			require.False(t, c.recordRead("/f", rd, 3).armed())
			require.True(t, c.recordRead("/f", fullReading(info, "x"), 4).armed())
			e := c.recordRead("/f", rd, 5)
			require.True(t, e.armed(), "and it does not disarm")
			require.Equal(t, int64(4), e.fullVersion)
		})
	}
}

// FS-16, KH-08
func TestSlicesAddUp(t *testing.T) {
	var c FileReadCache
	info := infoAt(5, 10)
	slice := func(info workspace.Info, content string, first, end int) Entry {
		rd := fullReading(info, content)
		rd.first, rd.end, rd.totalLines, rd.full = first, end, 9, false
		return c.recordRead("/f", rd, 1)
	}
	require.False(t, slice(info, "x", 0, 3).qualifying())
	require.Equal(t, [][2]int{{3, 6}}, slice(info, "x", 6, 9).missing())
	require.Equal(t, [][2]int{{0, 3}, {6, 9}}, slice(info, "y", 3, 6).missing(), "other content starts again")
	slice(info, "y", 0, 4)
	require.True(t, slice(info, "y", 5, 9).qualifying())
}

// A part of a line was omitted, so slices never cover the file.
func TestUnshowableNeverQualifiesBySlices(t *testing.T) {
	var c FileReadCache
	info := infoAt(5, 10)
	rd := firstHalf(info, "x")
	rd.unshowable = true
	c.recordRead("/f", rd, 1)
	for first := range 2 {
		rd = firstHalf(info, "x")
		rd.first, rd.end = first, first+1
		require.False(t, c.recordRead("/f", rd, 2).qualifying())
	}
	require.False(t, c.recordRead("/f", firstHalf(info, "y"), 3).unshowable, "other content may fit")
}

// RC-02, RC-03: the path refers to a different file.
func TestReplacedFile(t *testing.T) {
	var c FileReadCache
	old, now := infoAt(5, 10), infoAt(6, 10)
	c.recordRead("/f", fullReading(old, "x"), 1)
	verdict, _ := c.Check("/f", now)
	require.Equal(t, VerdictUnknown, verdict)
	e, ok := c.lookup("/f", now)
	require.True(t, ok, "the path is remembered")
	require.True(t, e.qualifying())

	c.refresh("/f", now, Sum([]byte("other")))
	require.Equal(t, 1, c.Len())
	verdict, _ = c.Check("/f", now)
	require.Equal(t, VerdictUnknown, verdict, "other bytes are not adopted")

	c.refresh("/f", now, Sum([]byte("x"))) // CR-15
	verdict, e = c.Check("/f", now)
	require.Equal(t, VerdictFresh, verdict)
	require.True(t, e.qualifying())
	require.Equal(t, 1, c.Len())
}

// CR-15: a file that has another name keeps its own entry.
func TestEqualBytesAreCopiedWhereTheOldFileHasAnotherName(t *testing.T) {
	var c FileReadCache
	old, now := infoAt(5, 10), infoAt(6, 10)
	c.recordRead("/a", fullReading(old, "x"), 1)
	c.recordRead("/b", fullReading(old, "x"), 2)
	c.refresh("/a", now, Sum([]byte("x")))
	require.Equal(t, 2, c.Len())
	for path, info := range map[string]workspace.Info{"/a": now, "/b": old} {
		verdict, e := c.Check(path, info)
		require.Equal(t, VerdictFresh, verdict)
		require.True(t, e.qualifying())
	}
	c.disqualify("/a", now)
	b, _ := c.ByPath("/b")
	require.True(t, b.qualifying())
	require.Empty(t, b.missing(), "a copy shares nothing")
}

// RC-02: the inode number of a removed file is reused.
func TestReusedInodeIsAStranger(t *testing.T) {
	var c FileReadCache
	old := infoAt(5, 10)
	c.recordRead("/gone", fullReading(old, "secret"), 1)
	other := infoAt(5, 11)
	other.MtimeNS, other.CtimeNS = noon.UnixNano(), noon.UnixNano()
	verdict, _ := c.Check("/new", other)
	require.Equal(t, VerdictUnknown, verdict)
	_, ok := c.lookup("/new", other)
	require.False(t, ok)
	c.disqualify("/new", other)
	gone, _ := c.ByPath("/gone")
	require.True(t, gone.qualifying())

	// Renamed or linked, a file keeps size and mtime.
	renamed := old
	renamed.CtimeNS = noon.UnixNano()
	e, ok := c.lookup("/new", renamed)
	require.True(t, ok)
	require.True(t, e.qualifying())

	c.recordRead("/new", firstHalf(other, "y"), 2)
	require.Equal(t, 2, c.Len())
	gone, _ = c.ByPath("/gone")
	require.Equal(t, Sum([]byte("secret")), gone.SHA256, "the old name must not stand for the new file")
}

// RC-02: a file that has the inode number of a replaced file, and the same bytes, is another file.
func TestReusedInodeWithEqualBytes(t *testing.T) {
	for name, meet := range map[string]func(*FileReadCache, workspace.Info){
		"read":    func(c *FileReadCache, info workspace.Info) { c.recordRead("/b", fullReading(info, "same"), 2) },
		"refresh": func(c *FileReadCache, info workspace.Info) { c.refresh("/b", info, Sum([]byte("same"))) },
		"track": func(c *FileReadCache, info workspace.Info) {
			c.Track("/b", &Snapshot{Info: info, SHA256: Sum([]byte("same")), Stable: true})
		},
		"write": func(c *FileReadCache, info workspace.Info) {
			c.RecordWrite("/b", info, Sum([]byte("same")), 2, 1, noon)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var c FileReadCache
			old := infoAt(5, 10)
			c.recordRead("/a", fullReading(old, "same"), 1) // then another program replaces /a
			reused := old
			reused.MtimeNS, reused.CtimeNS = noon.UnixNano(), noon.UnixNano()
			meet(&c, reused)
			require.NoError(t, c.invariants())
			c.RecordWrite("/b", infoAt(6, 12), Sum([]byte("same, changed")), 3, 1, noon)
			require.NoError(t, c.invariants())
			for path, want := range map[string]string{"/a": "same", "/b": "same, changed"} {
				e, ok := c.ByPath(path)
				require.True(t, ok, path)
				require.True(t, e.qualifying(), path)
				require.Equal(t, Sum([]byte(want)), e.SHA256, path)
			}
		})
	}
}

// FS-04: a read is recorded after its file was replaced, when another file that was read already
// has the inode number.
func TestLateReadTakesNothingFromAnotherFile(t *testing.T) {
	var c FileReadCache
	reused, moved := infoAt(5, 10), infoAt(6, 11)
	c.recordRead("/other", fullReading(moved, "other"), 1)
	moved.Ino = reused.Ino
	c.RecordWrite("/other", moved, Sum([]byte("other, changed")), 2, 1, noon)
	c.recordRead("/late", fullReading(reused, "late"), 3)
	for path, want := range map[string]string{"/other": "other, changed", "/late": "late"} {
		e, ok := c.lookup(path, moved)
		require.True(t, ok, path)
		require.True(t, e.qualifying(), path)
		require.Equal(t, Sum([]byte(want)), e.SHA256, path)
	}
}

// RC-07, CR-01
func TestDisqualify(t *testing.T) {
	var c FileReadCache
	info := infoAt(5, 10)
	c.recordRead("/f", fullReading(info, "x"), 1)
	c.disqualify("/f", info)
	e, _ := c.ByPath("/f")
	require.False(t, e.LastReadWasFull || e.LastReadCacheable || e.armed())
	require.True(t, e.changed)
	require.False(t, c.recordRead("/f", fullReading(info, "x"), 2).changed)
	c.disqualify("/unknown", infoAt(9, 1))
	require.Equal(t, 1, c.Len())
}

// The racily-clean rule of RC-13: less than 20 ms.
func TestRacy(t *testing.T) {
	const margin = int64(defaultRacy)
	read := noon.UnixNano()
	for name, tt := range map[string]struct {
		mtime, ctime int64
		local, want  bool
	}{
		"old":                     {read - time.Hour.Nanoseconds(), read - time.Hour.Nanoseconds(), true, false},
		"20 ms":                   {read - margin, read - margin, true, false},
		"mtime just less":         {read - margin + 1, read - margin, true, true},
		"ctime just less":         {read - margin, read - margin + 1, true, true},
		"mtime set back":          {1, read, true, true},
		"in the future":           {read + 1, 1, true, true},
		"not local":               {1, 1, false, true},
		"no ctime, but not local": {1, 0, false, true},
	} {
		e := Entry{LastReadAt: noon, local: tt.local, fingerprint: fingerprint{mtimeNS: tt.mtime, ctimeNS: tt.ctime}}
		require.Equal(t, tt.want, e.racy(defaultRacy), name)
	}
}

// RC-20: the bytes of a disturbed read are never paired with the stat data that the file had
// afterwards.
func TestTornReadHasNoFingerprint(t *testing.T) {
	var c FileReadCache
	info := infoAt(5, 10)
	for range 2 { // a new entry, then a known one with the very same hash
		rd := fullReading(info, "x")
		rd.cacheable, rd.torn = false, true
		c.recordRead("/f", rd, 1)
		verdict, _ := c.Check("/f", info)
		require.Equal(t, VerdictStale, verdict)
		c.recordRead("/f", fullReading(info, "x"), 2)
	}
}

// RC-35, KH-18
func TestInvalidate(t *testing.T) {
	var c FileReadCache
	info := infoAt(5, 10)
	c.Invalidate("/never seen")
	c.recordRead("/f", fullReading(info, "x"), 1)
	c.Invalidate("/f")
	verdict, _ := c.Check("/f", info)
	require.Equal(t, VerdictUnknown, verdict)
	_, ok := c.ByPath("/f")
	require.False(t, ok)
	require.Zero(t, c.Len())
}

// RC-34
func TestOverflowDropsTheLeastRecentlyUsed(t *testing.T) {
	c := FileReadCache{max: 3}
	for ino := range uint64(3) {
		c.recordRead(fmt.Sprint("/", ino), fullReading(infoAt(ino, 1), "x"), 1)
	}
	c.Check("/0", infoAt(0, 1))
	c.recordRead("/3", fullReading(infoAt(3, 1), "x"), 1)
	require.Equal(t, 3, c.Len())
	_, ok := c.ByPath("/1")
	require.False(t, ok)
	for _, path := range []string{"/0", "/2", "/3"} {
		_, ok := c.ByPath(path)
		require.True(t, ok, path)
	}
	var zero FileReadCache
	for ino := range uint64(defaultCacheSize + 5) {
		zero.recordRead(fmt.Sprint("/", ino), fullReading(infoAt(ino, 1), "x"), 1)
	}
	require.Equal(t, defaultCacheSize, zero.Len())
}

// RC-21, RC-22 (cache part)
func TestClearKeepsTheCounts(t *testing.T) {
	var c FileReadCache
	c.recordRead("/f", fullReading(infoAt(5, 10), "x"), 1)
	c.count(func(s *cacheStats) { s.hits = 4 })
	c.Clear()
	require.Zero(t, c.Len())
	_, ok := c.ByPath("/f")
	require.False(t, ok)
	require.Equal(t, int64(4), c.counts().hits)
	c.recordRead("/f", fullReading(infoAt(5, 10), "x"), 1)
	require.Equal(t, 1, c.Len())
}

// RC-29: a cache that was disabled meanwhile is cleared at the next check, even if it is enabled
// again by then; a cache created later is not.
func TestApplyKillSwitch(t *testing.T) {
	f := newFixture(t)
	f.write("a", "a\n")
	f.full("a")
	require.False(t, f.ApplyKillSwitch())
	require.Equal(t, 1, f.Cache.Len())
	f.turn++
	require.False(t, f.ApplyKillSwitch(), "on again")
	require.Zero(t, f.Cache.Len())
	f.full("a")
	require.False(t, f.ApplyKillSwitch())
	require.Equal(t, 1, f.Cache.Len(), "emptied once a turn")
	f.hidden = true
	require.True(t, f.ApplyKillSwitch())

	later := New(Options{Files: f.disk, KillSwitch: func() (bool, int64) { return false, 7 }})
	later.Cache.Track(f.name("a"), &Snapshot{Info: f.info("a"), SHA256: Sum([]byte("a\n")), Stable: true})
	require.False(t, later.ApplyKillSwitch())
	require.Equal(t, 1, later.Cache.Len(), "that turn was before its time")
}
