package file_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// FS-12: a state object has four keys, and versions increase by one.
func TestReadFileGivesStateObjects(t *testing.T) {
	s := newSession(t)
	for i, name := range []string{"a.txt", "sub/b.txt", "c.txt"} {
		content := "content of " + name + "\r\n<&>\n"
		path := s.Write(name, content)
		r := s.Call(file.ReadFile, args{"file_path": name})
		require.Equal(t, scheduler.StatusSuccess, r.Status)
		require.True(t, r.Result.LLMContent.IsJSON())
		got := configtest.Decode[map[string]any](t, r)
		require.Equal(t, map[string]any{
			"file_path": path, "version": float64(i + 1), "sha256": sum(content), "content": content,
		}, got)
		require.Contains(t, r.Result.LLMContent.String(), "<&>", "no HTML escapes")
	}
}

// KH-13: versions of a resumed session start above those of its history.
func TestVersionsOfAResumedSession(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", base)
	read(t, s, "a.txt")
	_, err := s.StartNewSession("", 41)
	require.NoError(t, err)
	require.Equal(t, int64(42), *read(t, s, "a.txt").Version, "shown again, because the cache is empty")
}

func TestReadFileEmptyFile(t *testing.T) {
	s := newSession(t)
	s.Write("empty", "")
	st := read(t, s, "empty")
	require.Equal(t, absent, *st.SHA256)
	require.Empty(t, *st.Content)
}

// FS-13, CR-30: ranges.
func TestReadFileRange(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", "1\n2\n3\n4\n5\n6\n")
	st := read(t, s, "a.txt", args{"offset": 2, "limit": 3})
	require.Equal(t, "3\n4\n5\n", *st.Content)
	require.Equal(t, [2]int{3, 5}, *st.LinesShown)
	require.Equal(t, 6, *st.TotalLines)
	require.Equal(t, 5, *st.NextOffset)
	require.False(t, st.Truncated)
	require.Empty(t, st.Notice)
	require.Nil(t, st.SHA256) // FS-15
	require.Equal(t, "5\n6\n", *read(t, s, "a.txt", args{"start_line": 5, "end_line": "9"}).Content)
	require.Equal(t, "1\n2\n", *read(t, s, "a.txt", args{"end_line": 2, "start_line": nil}).Content)

	r := s.Call(file.ReadFile, args{"file_path": "a.txt", "offset": 6})
	requireError(t, r, fault.InvalidToolParams, "")
	require.Contains(t, r.Result.Error.Message, "6 lines")
	require.Contains(t, r.Result.Error.Remedy, "0 to 5")
}

// FS-14: the fields, the three lines of the notice, and neither gap nor overlap at next_offset.
func TestReadFileTruncation(t *testing.T) {
	s := newSession(t)
	var b strings.Builder
	for i := range 2001 {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	s.Write("long.txt", b.String())
	st := read(t, s, "long.txt")
	require.True(t, st.Truncated)
	require.Equal(t, [2]int{1, 2000}, *st.LinesShown)
	require.Equal(t, 2001, *st.TotalLines)
	require.Equal(t, 2000, *st.NextOffset)
	require.Nil(t, st.SHA256)
	require.Equal(t, "IMPORTANT: The file content has been truncated.\n"+
		"Status: Showing lines 1-2000 of 2001 total lines.\n"+
		"Action: To read more, use offset: 2000.", st.Notice)
	rest := read(t, s, "long.txt", args{"offset": *st.NextOffset})
	require.Equal(t, b.String(), *st.Content+*rest.Content)
	require.Nil(t, rest.NextOffset)
	// FS-16: the slice that completes the file has the hash, and counts as proof.
	require.Equal(t, sum(b.String()), *rest.SHA256)
	requireInRegions(t, s.Call(file.Edit, args{"file_path": "long.txt", "old_string": "line 2001", "new_string": "last"}), b.String())
}

// FS-14: the limit of bytes never cuts a line that fits.
func TestReadFileTruncatesByBytes(t *testing.T) {
	s := newSession(t, func(p *config.Parameters) { p.Session.Limits.Bytes = 10 })
	s.Write("a.txt", "aaaa\nbbbb\ncccc\n")
	st := read(t, s, "a.txt")
	require.Equal(t, "aaaa\nbbbb\n", *st.Content)
	require.True(t, st.Truncated)
	require.Equal(t, "cccc\n", *read(t, s, "a.txt", args{"offset": *st.NextOffset}).Content)
}

// FS-15: ranges of a file that is known.
func TestRangedReadCarriesTheHashOfAKnownFile(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", base)
	slice := args{"offset": 1, "limit": 1}
	require.Nil(t, read(t, s, "a.txt", slice).SHA256)
	read(t, s, "a.txt")
	require.Equal(t, sum(base), *read(t, s, "a.txt", slice).SHA256)
	s.Write("a.txt", changed)
	require.Nil(t, read(t, s, "a.txt", slice).SHA256)
}

// FS-16: a change between slices starts the coverage again.
func TestSlicesOfDifferentContentsDoNotAddUp(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", base)
	read(t, s, "a.txt", args{"offset": 0, "limit": 2})
	s.Write("a.txt", changed)
	require.Nil(t, read(t, s, "a.txt", args{"offset": 2, "limit": 1}).SHA256)
	require.Equal(t, sum(changed), *read(t, s, "a.txt", args{"offset": 0, "limit": 2}).SHA256)
}

var png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"

// FS-17: binary data has no hash, and cannot be changed even with the correct hash.
func TestReadFilePayload(t *testing.T) {
	for name, content := range map[string]string{
		"a.png": png, "a.pdf": "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "a.mp3": "ID3\x04\x00\x00\x00\x00\x00\x00\x00\x00",
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t)
			path := s.Write(name, content)
			for range 2 { // RC-16: never a placeholder
				r := s.Call(file.ReadFile, args{"file_path": name})
				require.Equal(t, scheduler.StatusSuccess, r.Status)
				require.Len(t, r.Result.LLMContent.Parts, 2)
				require.Equal(t, content, string(r.Result.LLMContent.Parts[1].InlineData.Data))
				require.NotContains(t, r.Result.LLMContent.String(), sum(content))
			}
			require.Zero(t, versionNow(t, s), "no content, no version")
			eachMutator(t, func(t *testing.T, m mutator) {
				a := m.change(name)
				if m.takesBaseHash {
					a["base_content_sha256"] = sum(content)
				}
				requireWithheld(t, refuse(t, s.Call(m.tool, a), fault.EditRequiresPriorRead, fault.NonText).LatestFileState, path)
			})
			require.Equal(t, content, s.Read(name))
		})
	}
}

// FS-18, RC-16: files that cannot be displayed.
func TestReadFileUndisplayable(t *testing.T) {
	s := newSession(t)
	svg := `<svg xmlns="http://www.w3.org/2000/svg"><!-- two --></svg>` + "\n"
	large := strings.Replace(svg, "two", "two"+strings.Repeat("x", 1<<20-len(svg)+1), 1)
	require.Len(t, large, 1<<20+1)
	s.Write("exact.svg", large[:len(large)-2]+"\n")
	s.Write("small.svg", svg)
	s.Write("large.svg", large)
	s.Write("a.bin", "\x00\x01two\x00\xff\x00")
	require.Equal(t, sum(svg), *read(t, s, "small.svg").SHA256)
	succeed(t, s.Call(file.Edit, args{"file_path": "small.svg", "old_string": "two", "new_string": "2"}))
	require.Equal(t, strings.Replace(svg, "two", "2", 1), s.Read("small.svg"))
	require.NotNil(t, read(t, s, "exact.svg", args{"offset": 0, "limit": 1}).Content)

	for name, text := range map[string]string{
		"large.svg": "Cannot display content of SVG file larger than 1 MB: ",
		"a.bin":     "Cannot display content of binary file: ",
	} {
		for range 2 {
			r := s.Call(file.ReadFile, args{"file_path": name})
			require.Equal(t, scheduler.StatusSuccess, r.Status)
			require.Equal(t, text+s.Path(name), r.Result.LLMContent.String())
		}
		r := refuse(t, s.Call(file.Edit, args{"file_path": name, "old_string": "two", "new_string": "2"}), fault.EditRequiresPriorRead, fault.NonText)
		require.NotContains(t, r.Message, "read_file") // PR-08
	}
}

// FS-19: bytes that decoding would change.
func TestFileThatDoesNotSurviveDecoding(t *testing.T) {
	content := "two\nbroken: \xff\xfe\xc3 and \x81\nthree\n"
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t)
		path := s.Write("a.txt", content)
		for range 2 {
			st := read(t, s, "a.txt")
			require.Contains(t, *st.Content, "�")
			require.Nil(t, st.SHA256)
		}
		before := tree(t, s.Dir)
		a := m.change("a.txt")
		if m.takesBaseHash {
			a["base_content_sha256"] = sum(content)
		}
		r := refuse(t, s.Call(m.tool, a), fault.EditRequiresPriorRead, fault.NonText)
		requireWithheld(t, r.LatestFileState, path)
		require.Equal(t, before, tree(t, s.Dir))
	})
}

// RC-13, RC-17, RC-18: placeholders.
func TestPlaceholder(t *testing.T) {
	s := newSession(t)
	path := s.Write("sub/a.txt", base)
	s.Write("b.txt", "b")
	first := read(t, s, "sub/a.txt")
	r := s.Call(file.ReadFile, args{"file_path": path})
	p := configtest.Decode[filestate.Placeholder](t, r)
	require.Equal(t, path, p.FilePath)
	require.Equal(t, *first.Version, p.Version)
	require.Equal(t, sum(base), p.SHA256)
	require.Equal(t, "file_unchanged", p.Status)
	for _, needed := range []string{"compacted", "subagent", "shell", "MCP", "another process", "offset", "limit"} {
		require.Contains(t, p.Advice, needed)
	}
	require.Equal(t, "Unchanged: sub/a.txt", r.Result.ReturnDisplay.Text)
	require.Equal(t, *first.Version+1, *read(t, s, "b.txt").Version, "a placeholder uses no version")
	// RC-18: the next step of the placeholder shows the content.
	require.Equal(t, base, *read(t, s, path, args{"offset": 0, "limit": 2000}).Content)
}

// RC-13: the same size and modification time, but other bytes.
func TestPlaceholderNotForARewriteThatKeepsTheTimes(t *testing.T) {
	s := newSession(t)
	path := s.Write("a.txt", base)
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(path, old, old))
	read(t, s, "a.txt")
	s.Write("a.txt", changed)
	require.NoError(t, os.Chtimes(path, old, old))
	require.Equal(t, changed, *read(t, s, "a.txt").Content)
}

// RC-14: a placeholder requires a read after the write.
func TestPlaceholderOnlyAfterAReadThatFollowedTheWrite(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t)
		s.Write("a.txt", base)
		read(t, s, "a.txt")
		succeed(t, s.Call(m.tool, m.change("a.txt")))
		require.Equal(t, changed, *read(t, s, "a.txt").Content)
		require.Equal(t, sum(changed), readPlaceholder(t, s, "a.txt").SHA256)
	})
}

// RC-15: ranges neither return nor prepare a placeholder.
func TestRangedReadsNeitherGetNorArmAPlaceholder(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", base)
	whole := args{"offset": 0, "limit": 10}
	require.Equal(t, base, *read(t, s, "a.txt", whole).Content)
	require.Equal(t, base, *read(t, s, "a.txt").Content, "ranged, then full")
	for _, r := range []args{{"offset": 0}, {"limit": 3}, whole} {
		require.NotNil(t, read(t, s, "a.txt", r).Content, "full, then ranged")
	}
}

// RC-16: neither do reads that were cut.
func TestCutReadsNeitherGetNorArmAPlaceholder(t *testing.T) {
	s := newSession(t, func(p *config.Parameters) { p.Session.Limits.Lines = 2 })
	s.Write("a.txt", base)
	for range 2 {
		require.Equal(t, "one\ntwo\n", *read(t, s, "a.txt").Content)
	}
}

// RC-19: instruction files are always shown.
func TestInstructionFilesAreShownAfreshEachTime(t *testing.T) {
	for _, name := range []string{"AGENTS.md", "agents.md", "FETTLE.md"} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t)
			path := s.Write(name, base)
			for range 2 {
				st := read(t, s, name)
				require.Equal(t, base, *st.Content)
				require.Contains(t, st.Notice, "each read")
				require.Equal(t, sum(base), *st.SHA256)
			}
			cache, err := s.FileReadCache()
			require.NoError(t, err)
			e, ok := cache.ByPath(path)
			require.True(t, ok)
			require.True(t, e.LastReadWasFull)
			require.True(t, e.LastReadCacheable)
			require.False(t, e.LastReadAt.IsZero())
			succeed(t, s.Call(file.Edit, args{"file_path": name, "old_string": "two", "new_string": "TWO"}))
		})
	}
}

// TO-02: arguments.
func TestReadFileArguments(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", base)
	for _, tt := range []struct {
		args args
		want string
	}{
		{args{"file_path": ""}, "The 'file_path' parameter must be non-empty."},
		{args{"file_path": " \t"}, "The 'file_path' parameter must be non-empty."},
		{args{"file_path": "a.txt", "offset": -1}, "Offset must be a non-negative number"},
		{args{"file_path": "a.txt", "limit": 0}, "Limit must be a positive number"},
		{args{"file_path": "a.txt", "limit": -3}, "Limit must be a positive number"},
		{args{"file_path": "a.txt", "start_line": 0}, "start_line must be a line number of at least 1"},
		{args{"file_path": "a.txt", "start_line": 3, "end_line": 2}, "end_line must not be before start_line"},
		{args{"file_path": "a.txt", "start_line": 3, "limit": 2}, "start_line and limit exclude each other"},
	} {
		r := s.Call(file.ReadFile, tt.args)
		require.Equal(t, fault.InvalidToolParams, r.Result.Error.Code)
		if strings.HasPrefix(tt.want, "start") || strings.HasPrefix(tt.want, "end") {
			tt.want = "The arguments of read_file are invalid: " + tt.want
		}
		require.Equal(t, tt.want, r.Result.Error.Message)
	}
}

// TO-02: descriptions of calls.
func TestReadFileDescribesItself(t *testing.T) {
	s := newSession(t)
	inv := build(t, s, file.ReadFile, args{"file_path": "sub/a.txt", "offset": 7})
	require.Equal(t, "sub/a.txt", inv.Description())
	require.Equal(t, []tools.Location{{Path: s.Path("sub/a.txt"), Line: 7}}, inv.Locations())

	long := strings.Repeat("d/", 60) + "a.txt"
	got := build(t, s, file.ReadFile, args{"file_path": long}).Description()
	require.LessOrEqual(t, len(got), 80)
	require.True(t, strings.HasPrefix(got, "d/d/") && strings.Contains(got, "/.../") && strings.HasSuffix(got, "/a.txt"), got)

	got = build(t, s, file.ReadFile, args{"file_path": "a\nb.txt"}).Description()
	require.Equal(t, `"a\nb.txt"`, got, "one line, for any name")

	spec := specOf(t, s, file.ReadFile)
	require.Equal(t, tools.KindRead, spec.Kind)
	require.Equal(t, tools.KindRead, specOf(t, s, file.ReadManyFiles).Kind)
	require.Equal(t, tools.KindSearch, specOf(t, s, file.ListDirectory).Kind)
}

// FS-25, FS-46, FS-57: the descriptions explain hashes and prior reads.
func TestDescriptionsTeachTheProtocol(t *testing.T) {
	s := newSession(t)
	for tool, mentions := range map[string][]string{
		file.ReadFile:      {"version", "sha256", "base of a change", "file_unchanged", "next_offset"},
		file.ReadManyFiles: {"as read_file does", "null sha256"},
		file.SafePatch:     {"highest version", "has a sha256", "read_file first", "10 unchanged lines", "lock", "State Mismatch", "Invalid Diff"},
		file.WriteFile:     {"To create", "omit base_content_sha256", "To replace", "required", "refused"},
		file.Edit:          {"read_file before", "exactly", "empty old_string", "expected_replacements"},
	} {
		for _, m := range mentions {
			require.Contains(t, specOf(t, s, tool).Description, m, tool)
		}
	}
}

// FT-09, FT-16: a successful read counts as an access, a failed one does not.
func TestAccess(t *testing.T) {
	fresh := func(t *testing.T) *configtest.Session {
		s := newSession(t)
		s.Write("sub/AGENTS.md", "Be brief.")
		s.Write("sub/a.txt", base)
		return s
	}
	given := func(s *configtest.Session) int {
		tr, err := s.FileTracker()
		require.NoError(t, err)
		return len(tr.LoadedByAccess())
	}
	t.Run("failures", func(t *testing.T) {
		s := fresh(t)
		require.Error(t, s.Call(file.ReadFile, args{"file_path": "sub/absent.txt"}).Result.Error)
		s.Call(file.ReadManyFiles, args{"paths": []string{"sub/absent.txt"}})
		require.Error(t, s.Call(file.WriteFile, args{"file_path": "sub/a.txt", "content": ""}).Result.Error)
		s.Call(file.ListDirectory, args{"dir_path": "sub"})
		require.Zero(t, given(s))
		tr, err := s.FileTracker()
		require.NoError(t, err)
		ws, err := s.Workspace()
		require.NoError(t, err)
		p, err := ws.Resolve("sub/a.txt")
		require.NoError(t, err)
		s.Write("sub/a.txt", changed)
		modified, err := tr.HasBeenModifiedSinceRead(t.Context(), p)
		require.NoError(t, err)
		require.False(t, modified, "not tracked")
	})
	for tool, a := range map[string]args{
		file.ReadFile:      {"file_path": "sub/a.txt"},
		file.ReadManyFiles: {"paths": []string{"sub/a.txt"}},
		file.SafePatch:     mutators[0].change("sub/a.txt"),
		file.WriteFile:     mutators[1].create("sub/new.txt"),
		file.Edit:          mutators[2].create("sub/new.txt"),
	} {
		t.Run(tool, func(t *testing.T) {
			s := fresh(t)
			r := s.Call(tool, a)
			require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
			require.Equal(t, 1, given(s))
		})
	}
}

// FT-14: a file that begins with Error: is read like any other.
func TestContentThatLooksLikeAnError(t *testing.T) {
	s := newSession(t)
	s.Write("AGENTS.md", "Be brief.")
	s.Write("a.txt", "Error: not one\n")
	require.Equal(t, "Error: not one\n", *read(t, s, "a.txt").Content)
	tr, err := s.FileTracker()
	require.NoError(t, err)
	require.Len(t, tr.LoadedByAccess(), 1)
}

// A file of 2 GB is refused because of its size. Ranges of it are read in limited memory.
func TestHugeFile(t *testing.T) {
	s := newSession(t)
	path := s.Write("huge.log", "first\nsecond\n"+strings.Repeat("x", 9000)+"\n")
	require.NoError(t, os.Truncate(path, 2<<30))
	begin := time.Now()
	requireError(t, s.Call(file.ReadFile, args{"file_path": path}), fault.FileTooLarge, "")
	eachMutator(t, func(t *testing.T, m mutator) {
		requireWithheld(t, refuse(t, s.Call(m.tool, m.change(path)), fault.FileTooLarge, "").LatestFileState, path)
	})
	require.Less(t, time.Since(begin), time.Minute, "stat decides, nothing is read")
	if os.Getenv("FETTLE_FULL") == "" {
		require.NoError(t, os.Truncate(path, 64<<20))
	}
	var from, to runtime.MemStats
	runtime.ReadMemStats(&from)
	st := read(t, s, path, args{"offset": 0, "limit": 2})
	runtime.ReadMemStats(&to)
	require.Less(t, to.TotalAlloc-from.TotalAlloc, uint64(16<<20))
	require.Equal(t, "first\nsecond\n", *st.Content)
	require.Nil(t, st.SHA256)
}

// A single line of 10 MB is shown in part and is never a base for a change; the remedy names an alternative.
func TestOneLongLine(t *testing.T) {
	s := newSession(t)
	s.Write("a.json", `"`+strings.Repeat("é", 5<<20)+`"`)
	st := read(t, s, "a.json")
	require.LessOrEqual(t, len(*st.Content), 256<<10)
	require.True(t, st.Truncated)
	require.Nil(t, st.SHA256)
	require.Contains(t, st.Notice, "shell")
	r := s.Call(file.Edit, args{"file_path": "a.json", "old_string": "é", "new_string": "e"})
	refuse(t, r, fault.EditRequiresPriorRead, fault.PartialRead)
	require.Contains(t, r.Result.Error.Remedy, "shell")
}

func build(t testing.TB, s *configtest.Session, tool string, a args) tools.ToolInvocation {
	t.Helper()
	inv, err := toolOf(t, s, tool).Build(jsonOf(t, a))
	require.NoError(t, err)
	return inv
}

func toolOf(t testing.TB, s *configtest.Session, name string) tools.DeclarativeTool {
	t.Helper()
	registry, err := s.ToolRegistry()
	require.NoError(t, err)
	tool, err := registry.Lookup(name)
	require.NoError(t, err)
	return tool
}

func specOf(t testing.TB, s *configtest.Session, name string) tools.Spec {
	t.Helper()
	return toolOf(t, s, name).Spec()
}
