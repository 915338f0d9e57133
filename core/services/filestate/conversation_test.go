package filestate

import (
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// RC-21, RC-23, AR-04, TE-06
func TestNewSession(t *testing.T) {
	f := newFixture(t)
	f.write("a", "x")
	f.shown("a")
	child := f.sibling()
	child.shown("a")
	f.StartSession(9)
	require.Zero(t, f.Cache.Len())
	require.Equal(t, int64(10), *f.shown("a").Version)
	require.Equal(t, 1, child.Cache.Len())
	require.Equal(t, int64(1), child.Versions.Current())
}

// RC-22 (cache part), RC-23, FT-17 (cache part), TE-06
func TestCompacted(t *testing.T) {
	f := newFixture(t)
	f.write("a", "x")
	f.shown("a")
	child := f.sibling()
	child.shown("a")
	f.Compacted()
	require.Zero(t, f.Cache.Len())
	require.Equal(t, 1, child.Cache.Len())
	require.Equal(t, int64(2), *f.shown("a").Version, "versions go on")
	child.Compacted()
	require.Equal(t, 1, f.Cache.Len())
}

// FS-03, RC-24, RC-26, RC-27, TE-06 (state part): two conversations share nothing
func TestConversationsAreApart(t *testing.T) {
	parent := newFixture(t)
	child := parent.sibling()
	parent.write("a", "x")
	require.Equal(t, int64(1), *parent.shown("a").Version)
	child.requireRefusal(child.edit("a"), fault.EditRequiresPriorRead, fault.NeverRead)
	require.Equal(t, int64(1), *child.shown("a").Version)
	require.Nil(t, child.edit("a"))
	child.wrote("a", "y")
	parent.requireRefusal(parent.edit("a"), fault.FileChangedSinceRead, fault.Changed)
}

// RC-28, RC-30, TE-06: kill switch
func TestKillSwitch(t *testing.T) {
	f := newFixture(t)
	f.write("a", "x")
	f.hidden = true
	for want := range int64(2) {
		st := f.shown("a")
		require.Equal(t, want+1, *st.Version)
		require.Equal(t, Sum([]byte("x")), *st.SHA256)
	}
	f.wrote("a", "x")
	f.show(t.Context(), f.path("a"), f.snap("a"), 0)
	f.write("pic.png", "\x89PNG\r\n\x1a\n\x00\x00")
	f.full("pic.png")
	require.Nil(t, f.edit("a"))
	require.Zero(t, f.Cache.Len())
	require.Zero(t, f.Cache.counts(), "nothing is consulted")
	require.Nil(t, f.ranged("a", 0, 0).LinesShown)

	f.hidden = false // queried at each check, so it applies immediately
	require.True(t, f.full("a").State != nil)
	require.NotNil(t, f.full("a").Placeholder)
}

// RC-28: with the cache disabled slices do not add up, so a slice has no hash.
func TestKillSwitchAndSlices(t *testing.T) {
	f := newFixture(t)
	f.hidden = true
	f.write("a", "1\n2\n")
	require.Nil(t, f.ranged("a", 0, 1).SHA256)
	require.Nil(t, f.ranged("a", 1, 1).SHA256)
	require.NotNil(t, f.ranged("a", 0, 2).SHA256)
}

// RC-31, RC-33, KH-11
func TestConsultationsAreLoggedAndCounted(t *testing.T) {
	f := newFixture(t)
	f.write("a", "x")
	lines := func() []string {
		defer f.log.Reset()
		return strings.Split(strings.TrimSpace(f.log.String()), "\n")
	}
	f.shown("a")
	got := lines()
	require.Len(t, got, 1)
	for _, want := range []string{"level=DEBUG", "msg=miss", "component=READ_FILE_CACHE", "path=" + f.name("a")} {
		require.Contains(t, got[0], want)
	}
	f.full("a")
	require.Contains(t, lines()[0], "msg=hit")
	f.ranged("a", 0, 1)
	require.Equal(t, []string{""}, lines(), "a range is no consultation")

	f.disk.statErr = &fs.PathError{Op: "stat", Path: "a", Err: syscall.EACCES}
	require.Equal(t, "x", *f.shown("a").Content, "the full pipeline")
	got = lines()
	require.Len(t, got, 1)
	require.Contains(t, got[0], "msg=stat-failed")
	require.Contains(t, got[0], "EACCES")
	f.disk.statErr = nil
	require.NotNil(t, f.full("a").Placeholder)
	f.edit("never read")
	f.write("unread", "x")
	f.edit("unread")
	require.Equal(t, cacheStats{hits: 2, misses: 1, statFailures: 1, rejections: 1}, f.Cache.counts())
}

// RC-32, KH-16: no stat data after a write
func TestWriteWithoutStat(t *testing.T) {
	f := newFixture(t)
	p := f.write("a", "x")
	f.shown("a")
	st := f.Written(t.Context(), p, workspace.Info{}, "y", Sum([]byte("y")))
	require.Equal(t, "y", *st.Content)
	require.Equal(t, int64(2), *st.Version)
	require.Zero(t, f.Cache.Len())
}

// RC-34: a dropped entry only costs another read
func TestOverflowCostsARead(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Limits.cacheSize = 1 })
	f.write("a", "x")
	f.write("b", "y")
	f.shown("a")
	f.shown("b")
	f.shown("a")
	require.NotNil(t, f.full("a").Placeholder)
}
