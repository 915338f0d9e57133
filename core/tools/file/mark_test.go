package file_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// FS-55, FS-67: diffs show the byte order mark of a file in its first line, as git does. The mark is kept, removed or
// added as the diff states, and the approver sees it.
func TestByteOrderMarkInDiffs(t *testing.T) {
	t.Parallel()
	const mark = "\ufeff"
	rest := "two\nthree\nfour\n"
	for name, tt := range map[string]struct {
		base, diff, want string
	}{
		"context":                  {mark + "one\n" + rest, "@@ -1,3 +1,3 @@\n " + mark + "one\n-two\n+2\n three\n", mark + "one\n2\nthree\nfour\n"},
		"first line changed":       {mark + "one\n" + rest, "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-" + mark + "one\n+" + mark + "1\n two\n", mark + "1\n" + rest},
		"line added before it":     {mark + "one\n" + rest, "@@ -1,2 +1,3 @@\n-" + mark + "one\n+" + mark + "zero\n+one\n two\n", mark + "zero\none\n" + rest},
		"diff without the mark":    {mark + "one\n" + rest, "@@ -1,2 +1,2 @@\n-one\n+1\n two\n", mark + "1\n" + rest},
		"mark before the diff":     {mark + "one\n" + rest, mark + "@@ -1,2 +1,2 @@\n-" + mark + "one\n+" + mark + "1\n two\n", mark + "1\n" + rest},
		"mark removed":             {mark + "one\n" + rest, "@@ -1,2 +1,2 @@\n-" + mark + "one\n+one\n two\n", "one\n" + rest},
		"mark and word removed":    {mark + "one\n" + rest, "@@ -1,2 +1,2 @@\n-" + mark + "one\n+1\n two\n", "1\n" + rest},
		"mark added":               {"one\n" + rest, "@@ -1,2 +1,2 @@\n-one\n+" + mark + "one\n two\n", mark + "one\n" + rest},
		"mark exists already":      {mark + "one\n" + rest, "@@ -1,3 +1,3 @@\n-one\n-two\n+" + mark + "one\n+2\n three\n", mark + "one\n2\nthree\nfour\n"},
		"file has no mark":         {"one\n" + rest, "@@ -1,3 +1,3 @@\n " + mark + "one\n-two\n+2\n three\n", "one\n2\nthree\nfour\n"},
		"CR LF":                    {mark + "one\r\ntwo\r\n", "@@ -1,2 +1,2 @@\n " + mark + "one\r\n-two\r\n+2\r\n", mark + "one\r\n2\r\n"},
		"in the middle it is text": {"one\n" + mark + "two\nthree\n", "@@ -2,2 +2,2 @@\n-" + mark + "two\n+" + mark + "2\n three\n", "one\n" + mark + "2\nthree\n"},
		"of a long file":           {mark + strings.Repeat("line of the file\n", 300) + "end\n", "@@ -1,2 +1,2 @@\n-" + mark + "line of the file\n+" + mark + "first\n line of the file\n", mark + "first\n" + strings.Repeat("line of the file\n", 299) + "end\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, autoEdit)
			s.Write("a.txt", tt.base)
			st := read(t, s, "a.txt")
			confirmation, err := build(t, s, file.SafePatch, patchArgs("a.txt", tt.diff, *st.SHA256)).Confirmation(t.Context())
			require.NoError(t, err)
			asked := confirmation.EditDetails
			report := succeed(t, s.Call(file.SafePatch, patchArgs("a.txt", tt.diff, *st.SHA256)))
			require.Equal(t, tt.want, s.Read("a.txt"))
			require.Equal(t, sum(tt.want), *report.LatestFileState.SHA256)
			if content := report.LatestFileState.Content; content != nil {
				require.Equal(t, strings.TrimPrefix(tt.want, mark), *content)
			}
			// FS-44: the change is the one shown.
			d, err := patch.Parse(asked.FileDiff)
			require.NoError(t, err)
			c, err := patch.Correct(*asked.OriginalContent, d)
			require.NoError(t, err)
			got, err := patch.ApplyStrict(*asked.OriginalContent, c)
			require.NoError(t, err)
			require.Equal(t, asked.NewContent, got)
			require.Equal(t, strings.HasPrefix(tt.base, mark) != strings.HasPrefix(tt.want, mark), strings.Contains(asked.FileDiff, mark) && name != "in the middle it is text")
		})
	}
	t.Run("a new file", func(t *testing.T) {
		s := newSession(t, autoEdit)
		succeed(t, s.Call(file.SafePatch, patchArgs("new.txt", "@@ -0,0 +1 @@\n+"+mark+"one\n", filestate.EmptySHA256)))
		require.Equal(t, mark+"one\n", s.Read("new.txt"))
	})
	t.Run("regions are decoded text", func(t *testing.T) {
		s := newSession(t, autoEdit)
		s.Write("a.txt", strings.Repeat("line of the file\n", 1500))
		st := read(t, s, "a.txt")
		r := s.Call(file.SafePatch, patchArgs("a.txt", "@@ -1,2 +1,2 @@\n-line of the file\n+"+mark+"first\n line of the file\n", *st.SHA256))
		require.Nil(t, r.Result.Error)
		require.NotContains(t, r.Result.LLMContent.String(), mark)
		require.Contains(t, r.Result.LLMContent.String(), `"content":"first\nline`)
		require.True(t, strings.HasPrefix(s.Read("a.txt"), mark+"first\n"))
	})
	t.Run("only a mark, which exists already", func(t *testing.T) {
		s := newSession(t, autoEdit)
		s.Write("a.txt", mark+"one\ntwo\n")
		st := read(t, s, "a.txt")
		r := s.Call(file.SafePatch, patchArgs("a.txt", "@@ -1,2 +1,2 @@\n-one\n+"+mark+"one\n two\n", *st.SHA256))
		require.Equal(t, fault.InvalidDiff, r.Result.Error.Code)
		require.Equal(t, mark+"one\ntwo\n", s.Read("a.txt"))
	})
}
