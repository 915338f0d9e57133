package display

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/tools"
)

// TX-04: the result of a set is displayed as the diffs of its files. A text that only
// resembles one stays text.
func TestResultOfASet(t *testing.T) {
	const diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-update b.txt\n+update \x1bc.txt\n"
	text := "update a.txt\n" + diff + "\ncreate n\x1b.txt\n--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+x\n\nmove c.txt to d.txt\n\ndelete e.bin (not text)\n"
	require.Equal(t, []FileChange{
		{"update a.txt", diff}, {"create n<U+001B>.txt", "--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+x\n"}, {Change: "move c.txt to d.txt"}, {Change: "delete e.bin (not text)"},
	}, ResultChanges(text))
	var b strings.Builder
	RenderDisplay(&b, tools.TextDisplay(text), false)
	require.Equal(t, "update a.txt  +1 −1\n1 1  one\n2   -update b.txt\n  2 +update <U+001B>c.txt\ncreate n<U+001B>.txt  +1 −0\n  1 +x\nmove c.txt to d.txt  +0 −0\ndelete e.bin (not text)  +0 −0\n", b.String())
	for _, other := range []string{"", "update", "All is done.", "update a.txt\nand more\n", diff, "update a.txt\n" + diff + "diff --git a/b b/b\n"} {
		require.Nil(t, ResultChanges(other), other)
	}
}
