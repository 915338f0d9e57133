package filestate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// keys returns the keys of v's JSON object.
func keys(t *testing.T, v any) map[string]json.RawMessage {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	var m map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(data, &m))
	return m
}

func requireKeys(t *testing.T, v any, want ...string) {
	t.Helper()
	var got []string
	for k := range keys(t, v) {
		got = append(got, k)
	}
	require.ElementsMatch(t, want, got)
}

// FS-05, FS-06, FS-12, TE-02, CR-05: whatever the encoding, the hash is that of the bytes on disk.
func TestStateOfAFile(t *testing.T) {
	for name, tt := range map[string]struct{ bytes, text string }{
		"empty":  {"", ""},
		"lf":     {"a\nb\n", "a\nb\n"},
		"crlf":   {"a\r\nb", "a\r\nb"},
		"bom":    {"\xef\xbb\xbfa\n", "a\n"},
		"utf-16": {"\xff\xfeh\x00i\x00\n\x00", "hi\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.write("f.txt", tt.bytes)
			st := f.shown("f.txt")
			requireKeys(t, st, "file_path", "version", "sha256", "content")
			require.Equal(t, f.name("f.txt"), st.FilePath)
			require.Equal(t, tt.text, *st.Content)
			require.Equal(t, int64(1), *st.Version)
			sum := sha256.Sum256([]byte(tt.bytes))
			require.Equal(t, hex.EncodeToString(sum[:]), *st.SHA256)
		})
	}
	require.Equal(t, EmptySHA256, Sum(nil))
}

// FS-05: the path is the requested one, with links not resolved.
func TestStateKeepsTheNameAsked(t *testing.T) {
	f := newFixture(t)
	f.write("real.txt", "x")
	require.NoError(t, os.Symlink("real.txt", f.name("link.txt")))
	require.Equal(t, f.name("link.txt"), f.shown("link.txt").FilePath)
}

// CR-07, FS-04, FS-07, FS-12, TE-02: a version for each object with content, none for any other result.
func TestVersionsAreSpentOnContentAlone(t *testing.T) {
	f := newFixture(t)
	for i, name := range []string{"a", "b", "c"} {
		f.write(name, name)
		require.Equal(t, int64(i+1), *f.shown(name).Version)
	}
	require.NotNil(t, f.full("a").Placeholder)
	f.write("pic.png", "\x89PNG\r\n\x1a\n\x00\x00")
	require.NotNil(t, f.full("pic.png").Payload)
	f.write("bin", "\x00\x01\x02")
	require.NotEmpty(t, f.full("bin").Refusal)
	for _, r := range []ReadRequest{{Path: f.path("missing")}, {Path: f.path(".")}, {Path: f.path("a"), Offset: 5, Ranged: true}} {
		_, err := f.Read(t.Context(), r)
		require.Error(t, err)
	}
	f.snap("a")
	require.Nil(t, f.edit("a"))
	require.NotNil(t, f.edit("bin"))
	require.Equal(t, int64(3), f.Versions.Current())
	require.Equal(t, int64(4), *f.ranged("a", 0, 1).Version)
}

// FS-07: one descriptor is read once.
func TestOneOpenForEachRead(t *testing.T) {
	f := newFixture(t)
	f.write("a", "text")
	f.shown("a")
	require.Equal(t, 1, f.disk.opens)
	_, err := f.Read(t.Context(), ReadRequest{Path: f.path("missing")})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Equal(t, fault.FileNotFound, fault.CodeOf(err))
	require.Equal(t, 1, f.disk.opens)
}

// FS-08, CR-29: states of bytes that were already read open no file.
func TestBuildersFromBytesInHand(t *testing.T) {
	f := newFixture(t)
	p := f.write("a", "one\n")
	st := f.show(t.Context(), p, f.snap("a"), 0)
	require.Equal(t, "one\n", *st.Content)
	require.Equal(t, Sum([]byte("one\n")), *st.SHA256)
	require.Equal(t, int64(1), *st.Version)
	require.Nil(t, f.edit("a"), "what was shown may be changed")

	opens := f.disk.opens
	st = f.wrote("a", "two\n")
	require.Equal(t, "two\n", *st.Content)
	require.Equal(t, Sum([]byte("two\n")), *st.SHA256)
	require.Equal(t, int64(2), *st.Version)
	require.Equal(t, opens, f.disk.opens)
	requireKeys(t, st, "file_path", "version", "sha256", "content")
}

// CR-08, CR-29, PR-29: a failure shows nothing that read_file would not show, and allocates no
// version; a success above the limit has only a hash.
func TestWithheldStates(t *testing.T) {
	hidden := func(o *Options) { o.MayShow = func(workspace.Path) bool { return false } }
	small := func(o *Options) { o.Limits = Limits{Lines: 2, Bytes: 20, svgBytes: 10} }
	for name, tt := range map[string]struct {
		file, content string
		adjust        func(*Options)
	}{
		"policy":         {"a.txt", "x", hidden},
		"too many lines": {"a.txt", "1\n2\n3\n", small},
		"too many bytes": {"a.txt", strings.Repeat("x", 21), small},
		"image":          {"a.png", "\x89PNG\r\n\x1a\n\x00\x00", small},
		"large svg":      {"a.svg", "<svg>      </svg>", small},
		"lossy":          {"a.txt", "caf\xff\xfe\x81 x", small},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, tt.adjust)
			p := f.write(tt.file, tt.content)
			st := f.show(t.Context(), p, f.snap(tt.file), 0)
			require.Equal(t, Withheld(p.String()), st)
			require.False(t, st.Shown())
			m := keys(t, st)
			require.Len(t, m, 4)
			for _, key := range []string{"version", "sha256", "content"} {
				require.Equal(t, "null", string(m[key]))
			}
			require.Zero(t, f.Versions.Current())
		})
	}
	for _, adjust := range []func(*Options){hidden, small} {
		f := newFixture(t, adjust)
		st := f.wrote("a.txt", "1\n2\n3\n")
		require.Nil(t, st.Content)
		require.Equal(t, Sum([]byte("1\n2\n3\n")), *st.SHA256)
		require.Equal(t, int64(1), *st.Version)
	}
}

// FS-13, FS-15
func TestRangedRead(t *testing.T) {
	f := newFixture(t)
	f.write("a", "1\n2\n3\n4\n5\n6\n")
	st := f.ranged("a", 2, 3)
	require.Equal(t, "3\n4\n5\n", *st.Content)
	require.Nil(t, st.SHA256)
	// Nothing was truncated, so there is neither truncated nor notice.
	requireKeys(t, st, "file_path", "version", "sha256", "content", "lines_shown", "total_lines", "next_offset")
	require.Equal(t, [2]int{3, 5}, *st.LinesShown)
	require.Equal(t, 6, *st.TotalLines)
	require.Equal(t, 5, *st.NextOffset)

	last := f.ranged("a", 4, 9)
	require.Equal(t, "5\n6\n", *last.Content)
	requireKeys(t, last, "file_path", "version", "sha256", "content", "lines_shown", "total_lines")

	f.shown("a")
	require.Equal(t, Sum([]byte("1\n2\n3\n4\n5\n6\n")), *f.ranged("a", 2, 3).SHA256, "all of it was shown before")
	requireKeys(t, f.ranged("a", 0, 6), "file_path", "version", "sha256", "content")

	_, err := f.Read(t.Context(), ReadRequest{Path: f.path("a"), Offset: 6, Ranged: true})
	require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
	require.Contains(t, fault.As(err).Message, "6 lines")
}

// FS-14, CR-03: with the default limits
func TestReadCutByLines(t *testing.T) {
	f := newFixture(t)
	var b strings.Builder
	for i := range 2001 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	f.write("a", b.String())
	st := f.shown("a")
	requireKeys(t, st, "file_path", "version", "sha256", "content", "truncated", "lines_shown", "total_lines", "next_offset", "notice")
	require.True(t, st.Truncated)
	require.Equal(t, [2]int{1, 2000}, *st.LinesShown)
	require.Equal(t, 2001, *st.TotalLines)
	require.Equal(t, 2000, *st.NextOffset)
	require.Nil(t, st.SHA256)
	require.Equal(t, "IMPORTANT: The file content has been truncated.\n"+
		"Status: Showing lines 1-2000 of 2001 total lines.\n"+
		"Action: To read more, use offset: 2000.", st.Notice)
	rest := f.ranged("a", *st.NextOffset, 0)
	require.Equal(t, b.String(), *st.Content+*rest.Content, "neither gap nor overlap")
	require.Nil(t, rest.NextOffset)
	require.Equal(t, Sum([]byte(b.String())), *rest.SHA256)

	// A range without a limit is truncated too; one with a limit returns the requested lines.
	require.True(t, newRead(f, ReadRequest{Offset: 0, Ranged: true}).Truncated)
	require.False(t, newRead(f, ReadRequest{Limit: 2001, Ranged: true}).Truncated)
}

func newRead(f *fixture, r ReadRequest) *State {
	f.t.Helper()
	r.Path = f.path("a")
	got, err := f.Read(f.t.Context(), r)
	require.NoError(f.t, err)
	return got.State
}

// FS-14: exactly at the limits nothing is truncated.
func TestReadAtTheLimitsIsWhole(t *testing.T) {
	f := newFixture(t)
	f.write("lines", strings.Repeat("x\n", 2000))
	f.write("bytes", strings.Repeat("x", 256<<10))
	f.write("characters", strings.Repeat("é", 128<<10))
	for _, name := range []string{"lines", "bytes", "characters"} {
		requireKeys(t, f.shown(name), "file_path", "version", "sha256", "content")
	}
}

// FS-14: the limit of bytes cuts between lines, with or without an explicit limit of lines.
func TestReadCutByBytes(t *testing.T) {
	f := newFixture(t)
	line := strings.Repeat("x", 999) + "\n"
	f.write("a", strings.Repeat(line, 600))
	for _, r := range []ReadRequest{{}, {Limit: 600, Ranged: true}} {
		st := newRead(f, r)
		require.True(t, st.Truncated)
		require.Equal(t, strings.Repeat(line, 262), *st.Content)
		require.Equal(t, 262, *st.NextOffset)
		require.Contains(t, st.Notice, "Action: To read more, use offset: 262.")
	}
	require.Equal(t, strings.Repeat(line, 262), *f.ranged("a", 262, 0).Content)
	require.NotNil(t, f.ranged("a", 524, 0).SHA256, "read on, every line was shown")
	require.Nil(t, f.edit("a"))
}

// A line that alone exceeds the limit is truncated, and the file can never be shown in full.
func TestLineTooLongToBeShown(t *testing.T) {
	f := newFixture(t)
	f.write("a", "first\n"+strings.Repeat("é", 200_000)+"\nlast\n")
	st := f.shown("a")
	require.Equal(t, "first\n", *st.Content)
	st = f.ranged("a", 1, 0)
	require.True(t, st.Truncated)
	require.Equal(t, strings.Repeat("é", 128<<10), *st.Content)
	require.Equal(t, [2]int{2, 2}, *st.LinesShown)
	require.Contains(t, st.Notice, "Line 2 is longer than one read shows")
	require.Contains(t, st.Notice, "shell")
	require.Contains(t, st.Notice, "use offset: 2.")
	require.Nil(t, f.ranged("a", 2, 0).SHA256)
	refusal := f.edit("a")
	f.requireRefusal(refusal, fault.EditRequiresPriorRead, fault.PartialRead)
	require.Contains(t, refusal.Remedy, "shell")
	require.NotContains(t, refusal.Remedy, "read_file")
}

// A file of one overlong line has no next offset.
func TestOnlyLineTooLong(t *testing.T) {
	f := newFixture(t)
	f.write("a", strings.Repeat("x", 10<<20))
	st := f.shown("a")
	require.Len(t, *st.Content, 256<<10)
	require.True(t, st.Truncated)
	require.Nil(t, st.NextOffset)
	require.NotContains(t, st.Notice, "To read more")
	require.Nil(t, st.SHA256)
}

// FS-16, KH-08
func TestSlicesOfOneContentQualify(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Limits.Lines = 2 })
	content := "1\n2\n3\n4\n5\n6\n"
	f.write("a", content)
	require.Nil(t, f.shown("a").SHA256)
	require.Nil(t, f.ranged("a", 2, 0).SHA256)
	require.Equal(t, Sum([]byte(content)), *f.ranged("a", 4, 0).SHA256)
	require.Nil(t, f.edit("a"))

	f.write("a", "1\n2\nX\n4\n5\n6\n")
	require.Nil(t, f.ranged("a", 4, 0).SHA256, "coverage restarts")
	require.Nil(t, f.ranged("a", 0, 0).SHA256)
	require.NotNil(t, f.ranged("a", 2, 0).SHA256)
}

// Above the limit a file is not read completely, as determined by stat alone.
func TestFileTooLarge(t *testing.T) {
	f := newFixture(t)
	f.write("fits.txt", strings.Repeat("x\n", 10<<20))
	_, err := f.Read(t.Context(), ReadRequest{Path: f.path("fits.txt")})
	require.NoError(t, err)

	p := f.write("huge.txt", strings.Repeat("0123456\n", 20<<20/8)+"end\n")
	opens := f.disk.opens
	_, err = f.Read(t.Context(), ReadRequest{Path: p})
	require.Equal(t, fault.FileTooLarge, fault.CodeOf(err))
	require.Equal(t, opens, f.disk.opens)
	require.Contains(t, fault.As(err).Message, "20 MB")

	st := f.ranged("huge.txt", 20<<20/8-1, 5)
	require.Equal(t, "0123456\nend\n", *st.Content)
	require.Nil(t, st.SHA256)
	require.Equal(t, 20<<20/8+1, *st.TotalLines)
	require.Nil(t, st.NextOffset)
	require.False(t, f.entry("huge.txt").qualifying())
	refusal := f.Decide(Check{Path: p, Verb: editing, Proof: Sum(nil)})
	f.requireRefusal(refusal, fault.FileTooLarge, "")

	_, err = f.Read(t.Context(), ReadRequest{Path: p, Offset: 20<<20/8 + 1, Ranged: true})
	require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))

	// A sparse file is binary: not even a range of it is shown.
	require.NoError(t, os.Truncate(f.write("sparse", "").String(), 2<<30))
	r, err := f.Read(t.Context(), ReadRequest{Path: f.path("sparse"), Limit: 5, Ranged: true})
	require.NoError(t, err)
	require.NotEmpty(t, r.Refusal)
}

func TestReadCancelled(t *testing.T) {
	f := newFixture(t)
	f.write("a", "x")
	require.NoError(t, os.WriteFile(f.name("huge"), []byte(strings.Repeat("x\n", 11<<20)), 0o644))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, r := range []ReadRequest{{Path: f.path("a")}, {Path: f.path("huge"), Ranged: true}} {
		_, err := f.Read(ctx, r)
		require.Equal(t, fault.Cancelled, fault.CodeOf(err))
		require.ErrorIs(t, err, context.Canceled)
	}
	require.Zero(t, f.Versions.Current())
}

// RC-01, TE-06: identity by inode, hard link, link
func TestOneFileUnderManyNames(t *testing.T) {
	onLinux(t)
	f := newFixture(t)
	f.write("a", "x")
	require.NoError(t, os.Link(f.name("a"), f.name("hard")))
	require.NoError(t, os.Symlink("a", f.name("soft")))
	f.shown("a")
	for _, name := range []string{"hard", "soft"} {
		verdict, _ := f.Cache.Check(f.name(name), f.info(name))
		require.Equal(t, VerdictFresh, verdict)
		require.Nil(t, f.edit(name))
		require.NotNil(t, f.full(name).Placeholder)
	}
	require.Equal(t, 1, f.Cache.Len())
}

// FS-09
func TestNothingIsWrittenToTheProject(t *testing.T) {
	f := newFixture(t)
	f.write("a", "x")
	f.shown("a")
	f.edit("a")
	f.full("a")
	entries, err := os.ReadDir(f.top)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// FS-10: listing or walking a directory does not count as reading.
func TestListingIsNoRead(t *testing.T) {
	f := newFixture(t)
	f.write("a", "x")
	_, err := f.disk.ReadDir(t.Context(), f.path("."))
	require.NoError(t, err)
	f.snap("a") // nor does an internal read
	f.requireRefusal(f.edit("a"), fault.EditRequiresPriorRead, fault.NeverRead)
	require.Zero(t, f.Cache.Len())
}

// RC-24: a new Service allocates almost nothing.
func TestNewAllocatesLittle(t *testing.T) {
	f := newFixture(t)
	var s *Service
	n := testing.AllocsPerRun(100, func() { s = New(Options{Files: f.disk}) })
	require.LessOrEqual(t, n, 3.0)
	require.Nil(t, s.Cache.entries)
}

func TestBytesText(t *testing.T) {
	for n, want := range map[int64]string{5: "5 bytes", 1 << 10: "1 KB", 1536: "1.5 KB", 20 << 20: "20 MB", 1<<20 + 1<<19: "1.5 MB"} {
		require.Equal(t, want, bytesText(n))
	}
}

func TestErrnoName(t *testing.T) {
	require.Equal(t, "EACCES", errnoName(fmt.Errorf("x: %w", syscall.EACCES)))
	require.Equal(t, "odd", errnoName(errors.New("odd")))
}

var _ Files = (*workspace.Workspace)(nil)
