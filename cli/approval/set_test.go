package approval

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
)

// TX-04: one question shows the changes of all files of a set, as diffs.
func TestQuestionOfASet(t *testing.T) {
	var q bus.ToolConfirmationRequest
	q.Details.Title, q.Details.Paths = "Confirm Patch 2 files: a.txt …", []string{"/w/a.txt", "/w/b.txt"}
	q.Details.InfoDetails = &confirmation.InfoDetails{Prompt: "````diff\nupdate a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-```\n+2\n\ndelete b.txt\n````"}
	q.Details.Bases = make([]confirmation.FileVersion, 2)
	shown := renderQuestion(q, "", 80, false)
	require.Contains(t, shown, "Confirm Patch 2 files: a.txt …\nupdate a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-```\n+2\n\ndelete b.txt\nchanges /w/a.txt\nchanges /w/b.txt\n")
	require.Contains(t, renderQuestion(q, "", 80, true), "\x1b[31m-```")
}

// UI-02: each file of a set has its own change; no line of a file can look like another
// file, and a text with another number of files has none.
func TestFiles(t *testing.T) {
	var q bus.ToolConfirmationRequest
	q.Details.Bases = make([]confirmation.FileVersion, 3)
	diff := "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,2 @@\n one\n--- delete x.txt\n \n\\ No newline at end of file\n@@ -9 +8 @@ func x\n-update y.txt\n+update z.txt\n"
	q.Details.InfoDetails = &confirmation.InfoDetails{Prompt: "```diff\nupdate a.txt\n" + diff + "\ndelete b.txt (not text)\n\nmove c\x1b.txt to d.txt\n\n```"}
	require.Equal(t, []display.FileChange{{Change: "update a.txt", Diff: diff}, {Change: "delete b.txt (not text)"}, {Change: "move c<U+001B>.txt to d.txt"}}, Files(q))

	q.Details.Bases = q.Details.Bases[:2]
	require.Nil(t, Files(q))
	q.Details.Bases = nil
	require.Nil(t, Files(q))
	q.Details.Bases = make([]confirmation.FileVersion, 1)
	for _, prompt := range []string{"", "```diff\n", "```diff\n@@ -1 +1 @@\n-a\n+b\n```", "```diff\n--- a\n\nx\ny\n```"} {
		q.Details.InfoDetails.Prompt = prompt
		require.Nil(t, Files(q), prompt)
	}
	q.Details.InfoDetails = nil
	require.Nil(t, Files(q))
}
