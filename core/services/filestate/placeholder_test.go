package filestate

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// RC-13, RC-17, RC-18, CR-02, KH-11: the placeholder, from a stat alone
func TestPlaceholder(t *testing.T) {
	onLinux(t)
	f := newFixture(t)
	f.write("a", "x")
	f.write("b", "y")
	st := f.shown("a")
	opens := f.disk.opens
	p := f.full("a").Placeholder
	require.NotNil(t, p)
	require.Equal(t, opens, f.disk.opens)
	requireKeys(t, p, "file_path", "version", "sha256", "status", "advice")
	require.Equal(t, st.FilePath, p.FilePath)
	require.Equal(t, *st.Version, p.Version)
	require.Equal(t, *st.SHA256, p.SHA256)
	require.Equal(t, "file_unchanged", p.Status)
	for _, want := range []string{"compacted", "subagent", "shell", "MCP", "another process", "offset", "limit"} {
		require.Contains(t, p.Advice, want)
	}
	require.Equal(t, *st.Version+1, *f.shown("b").Version, "no version was spent")
}

// FS-23, CR-02: a caller that cannot use a placeholder receives content, recorded as any read.
func TestRepeat(t *testing.T) {
	f := newFixture(t)
	f.write("a", "x")
	for range 2 {
		r, err := f.Read(t.Context(), ReadRequest{Path: f.path("a"), Repeat: true})
		require.NoError(t, err)
		require.NotNil(t, r.State)
	}
	require.NotNil(t, f.full("a").Placeholder)
	require.Nil(t, f.edit("a"))
}

// RC-13, KH-01: times and size are unchanged, but the bytes are not. Setting mtime back changes
// ctime, which only the clock can set.
func TestRewriteWithMtimeSetBack(t *testing.T) {
	f := newFixture(t)
	p := f.write("a", "one")
	before := f.info("a")
	f.shown("a")
	f.write("a", "two")
	require.NoError(t, os.Chtimes(p.String(), f.clock, unixNano(before.MtimeNS)))
	after := f.info("a")
	require.Equal(t, before.MtimeNS, after.MtimeNS)
	require.Equal(t, before.Size, after.Size)
	require.Equal(t, "two", *f.shown("a").Content)
}

// RC-13, KH-01: a file changed within one clock tick of its read keeps all its stat data. Real
// ctimes cannot produce that, so the entry gets the file's current stat data.
func TestRacilyCleanEntryIsSettledByHash(t *testing.T) {
	onLinux(t)
	f := newFixture(t)
	p := f.write("a", "one")
	f.clock = unixNano(f.info("a").CtimeNS + int64(defaultRacy) - 1)
	f.shown("a")
	f.write("a", "two")
	f.pretend(p, "a")
	r := f.full("a")
	require.NotNil(t, r.State, "the hash tells")
	require.Equal(t, "two", *r.State.Content)

	// Unchanged, it is verified by hash each time until its times have aged.
	for range 2 {
		opens := f.disk.opens
		require.NotNil(t, f.full("a").Placeholder)
		require.Equal(t, opens+1, f.disk.opens)
	}
	f.clock = unixNano(f.info("a").CtimeNS + int64(defaultRacy))
	opens := f.disk.opens
	require.NotNil(t, f.full("a").Placeholder)
	require.Equal(t, opens+1, f.disk.opens, "the last hash, which dates the entry anew")
	for range 2 {
		require.NotNil(t, f.full("a").Placeholder)
		require.Equal(t, opens+1, f.disk.opens)
	}
}

// pretend gives the entry of a file the file's current stat data, as if it had been changed within
// one tick.
func (f *fixture) pretend(p workspace.Path, name string) {
	f.t.Helper()
	verdict, e := f.Cache.Check(p.String(), f.info(name))
	require.NotEqual(f.t, VerdictUnknown, verdict)
	f.Cache.refresh(p.String(), f.info(name), e.SHA256)
	verdict, _ = f.Cache.Check(p.String(), f.info(name))
	require.Equal(f.t, VerdictFresh, verdict)
}

// RC-13: where times cannot be trusted every placeholder is verified by hash.
func TestPlaceholderOffLocalFileSystems(t *testing.T) {
	f := newFixture(t)
	f.write("a", "x")
	snap := f.snap("a")
	snap.Local = false
	f.show(t.Context(), f.path("a"), snap, 0)
	for range 2 {
		opens := f.disk.opens
		require.NotNil(t, f.full("a").Placeholder)
		require.Equal(t, opens+1, f.disk.opens)
	}
}

// RC-07, RC-13: a file that was only touched is shown again, and known.
func TestTouch(t *testing.T) {
	f := newFixture(t)
	p := f.write("a", "x")
	f.shown("a")
	require.NoError(t, os.Chtimes(p.String(), f.clock, f.clock.Add(-5*3600e9)))
	require.Nil(t, f.edit("a"))
	verdict, _ := f.Cache.Check(p.String(), f.info("a"))
	require.Equal(t, VerdictFresh, verdict, "refreshed")
	require.NotNil(t, f.full("a").Placeholder)
}

// RC-14, RC-15, TE-06: after write; ranged; ranged then full
func TestWhatArmsThePlaceholder(t *testing.T) {
	f := newFixture(t)
	f.wrote("a", "1\n2\n")
	require.NotNil(t, f.ranged("a", 0, 9), "a range does not arm")
	st := f.shown("a")
	f.ranged("a", 0, 1)
	require.NotNil(t, f.ranged("a", 0, 2).Content, "nor does it get one")
	require.Equal(t, *st.Version, f.full("a").Placeholder.Version, "nor disarm: the version is the full read's")

	f.wrote("a", "3\n4\n")
	require.Equal(t, "3\n4\n", *f.shown("a").Content)
	require.NotNil(t, f.full("a").Placeholder)
}

// RC-16, TE-06: truncated, binary, image, and text that a write turned into a kind that is not
// shown as text.
func TestCutAndNonTextNeverGetAPlaceholder(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Limits = Limits{Lines: 2} })
	for name, content := range map[string]string{"long": "1\n2\n3\n", "a.pdf": "%PDF-1.7\ntext\n"} {
		f.write(name, content)
		for range 2 {
			require.Nil(t, f.full(name).Placeholder)
		}
		f.wrote(name, content)
		for range 3 {
			require.Nil(t, f.full(name).Placeholder, "%s after a write", name)
		}
	}
	// Shown in slices it is known, but was never shown at once.
	f.ranged("long", 0, 2)
	f.ranged("long", 2, 2)
	require.True(t, f.entry("long").qualifying())
	require.Nil(t, f.full("long").Placeholder)
}

// RC-19, TE-06: instruction file flags
func TestInstructionFilesAreAlwaysShown(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"AGENTS.md", "agents.md"} {
		f.write(name, "be kind\n")
		for range 3 {
			st := f.shown(name)
			require.Equal(t, "be kind\n", *st.Content)
			require.NotEmpty(t, st.Notice)
			requireKeys(t, st, "file_path", "version", "sha256", "content", "notice")
		}
		e := f.entry(name)
		require.True(t, e.LastReadWasFull)
		require.True(t, e.LastReadCacheable)
		require.True(t, e.qualifying())
		require.Nil(t, f.edit(name))
	}
	own := newFixture(t, func(o *Options) { o.Instructions = func(base string) bool { return base == "CONTEXT.md" } })
	own.write("CONTEXT.md", "x")
	own.write("AGENTS.md", "x")
	own.shown("CONTEXT.md")
	require.NotEmpty(t, own.shown("CONTEXT.md").Notice)
	own.shown("AGENTS.md")
	require.NotNil(t, own.full("AGENTS.md").Placeholder)
	// Truncated, it has both notices.
	long := newFixture(t, func(o *Options) { o.Limits.Lines = 1 })
	long.write("agents.md", "1\n2\n")
	require.Equal(t, 4, len(strings.Split(long.shown("agents.md").Notice, "\n")))
}
