package file_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// bounded returns a change of parameters that limits results to n bytes.
func bounded(n int) func(*config.Parameters) {
	return func(p *config.Parameters) {
		p.Session.Limits.ResultBytes = n
		p.Policy.ApprovalMode = "autoEdit"
	}
}

// requireFits requires that no result of a call has more than n bytes, and returns its text.
func requireFits(t testing.TB, r scheduler.Response, n int) string {
	t.Helper()
	text := r.Result.LLMContent.String()
	require.LessOrEqual(t, len(text), n, "%.300s", text)
	return text
}

// randomText returns lines with characters that JSON escapes, and characters of every length.
func randomText(r *rand.Rand, lines, longest int) string {
	alphabet := []string{
		`"`, `\`, "\t", "\r", "\x1b", "\b", "\f", "\x01", "\x7f", "<", "&", "a", "b", " ", "é", "\u0085", "\u009b", "\u2028", "\u202e", "\ufffd", "漢", "😀",
	}
	var b strings.Builder
	for i := range lines {
		length := r.IntN(longest + 1)
		plain := r.IntN(3) == 0
		for range length {
			if plain {
				b.WriteByte('x')
				continue
			}
			b.WriteString(alphabet[r.IntN(len(alphabet))])
		}
		if i < lines-1 || r.IntN(2) == 0 {
			b.WriteString("\n")
		}
	}
	return b.String()
}

// ST-08: pages show every byte once and respect the limit, and the page that completes the file has the hash.
func TestReadPages(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	paged, rounds := 0, 25
	if os.Getenv("FETTLE_FULL") != "" {
		rounds = 150
	}
	for i := range rounds {
		limit := 1000 + r.IntN(9000)
		if i%5 == 0 {
			limit = 1000
		}
		s := newSession(t, bounded(limit))
		content := randomText(r, 1+r.IntN(400), 1+r.IntN(120))
		if len(s.Dir) > 300 || controls(content) {
			continue // shown as binary
		}
		path := s.Write("f.txt", content)
		first := s.Call(file.ReadFile, args{"file_path": path})
		text := requireFits(t, first, limit)
		st := configtest.Decode[filestate.State](t, first)
		if st.Content == nil {
			continue
		}
		shown := *st.Content
		pages := 1
		for ; st.NextOffset != nil; pages++ {
			require.Nil(t, st.SHA256, "before the last page")
			require.True(t, st.Truncated)
			require.Contains(t, st.Notice, fmt.Sprintf("To read more, use offset: %d.", *st.NextOffset))
			first = s.Call(file.ReadFile, args{"file_path": path, "offset": *st.NextOffset})
			text = requireFits(t, first, limit)
			next := configtest.Decode[filestate.State](t, first)
			require.Equal(t, st.LinesShown[1]+1, next.LinesShown[0])
			st = next
			shown += *st.Content
		}
		require.Equal(t, content, shown, "limit %d", limit)
		require.NotNil(t, st.SHA256, "limit %d: %.200s", limit, text)
		require.Equal(t, sum(content), *st.SHA256)
		// A read that was cut neither prepares nor returns a placeholder.
		again := s.Call(file.ReadFile, args{"file_path": path})
		require.Equal(t, pages > 1, !strings.Contains(requireFits(t, again, limit), filestate.StatusUnchanged))
		if pages > 1 {
			paged++
		}
	}
	require.Greater(t, paged, rounds/3)
}

// controls reports whether the share of control characters makes the file binary.
func controls(text string) bool {
	odd := strings.Count(text, "\x01")
	return odd*20 > len(text)
}

// A line longer than a page is cut, and the page fits. The remedy is that of any line that is too long.
func TestReadPageOfOneLine(t *testing.T) {
	for _, line := range []string{strings.Repeat(`"`, 3000), strings.Repeat("漢", 2000), strings.Repeat("\x1b[0m", 900), strings.Repeat("x", 5000)} {
		s := newSession(t, bounded(2000))
		path := s.Write("f.txt", "first\n"+line+"\nlast\n")
		var st filestate.State
		for next := 0; ; next = *st.NextOffset {
			r := s.Call(file.ReadFile, args{"file_path": path, "offset": next})
			requireFits(t, r, 2000)
			st = configtest.Decode[filestate.State](t, r)
			require.True(t, utf8.ValidString(*st.Content))
			require.Nil(t, st.SHA256)
			if st.NextOffset == nil {
				break
			}
		}
		r := s.Call(file.WriteFile, args{"file_path": path, "content": "x"})
		requireFits(t, r, 2000)
		requireError(t, r, fault.EditRequiresPriorRead, fault.PartialRead)
		require.Contains(t, r.Result.Error.Remedy, "shell command")
	}
}

// A change is possible after reading all pages.
func TestChangeAfterPages(t *testing.T) {
	s := newSession(t, bounded(2000))
	content := strings.Repeat(`say("hello")`+"\n", 300)
	path := s.Write("f.txt", content)
	st := read(t, s, path)
	early := s.Call(file.WriteFile, args{"file_path": path, "content": "x"})
	requireError(t, early, fault.EditRequiresPriorRead, fault.PartialRead)
	require.Contains(t, early.Result.Error.Remedy, fmt.Sprintf("offset %d", *st.NextOffset))
	for st.NextOffset != nil {
		st = read(t, s, path, args{"offset": *st.NextOffset})
	}
	diff := "@@ -1,3 +1,3 @@\n-say(\"hello\")\n+say(\"bye\")\n say(\"hello\")\n say(\"hello\")\n"
	r := s.Call(file.SafePatch, args{"file_path": path, "unified_diff": "--- a\n+++ b\n" + diff, "base_content_sha256": *st.SHA256})
	requireFits(t, r, 2000)
	require.Equal(t, scheduler.StatusSuccess, r.Status)
	var report file.Report
	require.NoError(t, json.Unmarshal([]byte(r.Result.LLMContent.String()), &report))
	require.NotNil(t, report.LatestFileState.SHA256)
	require.Nil(t, report.LatestFileState.Content, "it does not fit")
}

// Errors and successes fit for any content of the file, and count as shown only the content that they include.
func TestReportsFit(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	for range 120 {
		limit := 1000 + r.IntN(6000)
		s := newSession(t, bounded(limit))
		content := randomText(r, 1+r.IntN(60), 1+r.IntN(60))
		path := s.Write("f.txt", "before\n")
		base := read(t, s, path)
		require.NotNil(t, base.SHA256)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		refused := s.Call(file.SafePatch, args{"file_path": path, "unified_diff": baseDiff, "base_content_sha256": *base.SHA256})
		requireFits(t, refused, limit)
		var report file.Report
		require.NoError(t, json.Unmarshal([]byte(refused.Result.LLMContent.String()), &report))
		if report.LatestFileState.Content == nil {
			require.Nil(t, report.LatestFileState.SHA256, "not shown, so no hash")
			over := s.Call(file.Edit, args{"file_path": path, "old_string": "x", "new_string": "y"})
			requireFits(t, over, limit)
			require.NotNil(t, over.Result.Error, "not read, so not changed")
			continue
		}
		require.Equal(t, content, *report.LatestFileState.Content)
		written := s.Call(file.WriteFile, args{"file_path": path, "content": content + content, "base_content_sha256": *report.LatestFileState.SHA256})
		requireFits(t, written, limit)
		require.Equal(t, scheduler.StatusSuccess, written.Status)
	}
}

// Many corrections of a diff do not make a result too long.
func TestCorrectionsFit(t *testing.T) {
	s := newSession(t, bounded(1500))
	var old, diff strings.Builder
	diff.WriteString("--- a/f.txt\n+++ b/f.txt\n")
	for i := range 200 {
		fmt.Fprintf(&old, "line %d\n", i)
		fmt.Fprintf(&diff, "@@ -%d,1 +%d,1 @@\n-line %d\n+LINE %d\n", i+50, i+50, i, i)
	}
	path := s.Write("f.txt", old.String())
	r := s.Call(file.SafePatch, args{"file_path": path, "unified_diff": diff.String(), "base_content_sha256": sum(old.String())})
	requireFits(t, r, 1500)
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
}

// The array of read_many_files fits. Files without room have an error that states how to read them, in their place or
// in one element for all of them, and do not count as read.
func TestReadManyFilesFits(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		limit := 1000 + r.IntN(8000)
		s := newSession(t, bounded(limit))
		n := 1 + r.IntN(40)
		var names []string
		contents := map[string]string{}
		for i := range n {
			content := strings.Repeat(`a "quoted" line`+"\n", r.IntN(120))
			path := s.Write(fmt.Sprintf("f%02d.txt", i), content)
			names, contents[path] = append(names, path), content
		}
		call := s.Call(file.ReadManyFiles, args{"paths": names})
		text := requireFits(t, call, limit)
		require.LessOrEqual(t, len(call.Result.Structured), limit)
		got := configtest.Decode[[]element](t, call)
		require.NotEmpty(t, got)
		for i, e := range got {
			require.Equal(t, names[i], e.FilePath)
			switch {
			case e.Error != nil:
				require.Equal(t, fault.FileTooLarge, e.Error.Code)
				require.Contains(t, e.Error.Remedy, "read_file")
			case e.SHA256 != nil:
				require.Equal(t, contents[e.FilePath], *e.Content)
			default:
				require.True(t, e.Truncated)
				require.NotNil(t, e.NextOffset)
			}
		}
		if len(got) < n {
			require.Contains(t, got[len(got)-1].Error.Message, fmt.Sprintf("this one and %d more", n-len(got)), text)
		}
		if e := got[len(got)-1]; e.Error != nil && contents[e.FilePath] != "" {
			over := s.Call(file.WriteFile, args{"file_path": e.FilePath, "content": "x"})
			requireError(t, over, fault.EditRequiresPriorRead, fault.NeverRead)
		}
	}
}

// A directory lists as many entries as fit, and counts the others.
func TestListDirectoryFits(t *testing.T) {
	s := newSession(t, bounded(2000))
	for i := range 300 {
		s.Write(fmt.Sprintf("d/a \"name\" %03d", i), "")
	}
	r := s.Call(file.ListDirectory, args{"dir_path": "d"})
	requireFits(t, r, 2000)
	var got struct {
		Entries []struct{ Name string }
		LeftOut int `json:"left_out"`
		Notice  string
	}
	require.NoError(t, json.Unmarshal([]byte(r.Result.LLMContent.String()), &got))
	require.Greater(t, len(got.Entries), 15)
	require.Equal(t, 300, len(got.Entries)+got.LeftOut)
	require.NotEmpty(t, got.Notice)
}
