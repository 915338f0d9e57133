package approval

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
)

// TX-04: one question shows the changes of all files of a set, as diffs.
func TestQuestionOfASet(t *testing.T) {
	var q bus.ToolConfirmationRequest
	q.Details.Title, q.Details.Paths = "Confirm Patch 2 files: a.txt …", []string{"/w/a.txt", "/w/b.txt"}
	q.Details.InfoDetails = &bus.InfoDetails{Prompt: "````diff\nupdate a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-```\n+2\n\ndelete b.txt\n````"}
	q.Details.Bases = make([]bus.FileVersion, 2)
	shown := renderQuestion(q, 80, false)
	require.Contains(t, shown, "Confirm Patch 2 files: a.txt …\nupdate a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-```\n+2\n\ndelete b.txt\nchanges /w/a.txt\nchanges /w/b.txt\n")
	require.Contains(t, renderQuestion(q, 80, true), "\x1b[31m-```")
}
