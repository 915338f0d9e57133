package patch

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// FS-35: a diff for several files is refused as a whole, for every form of naming a file, with the
// name of the second file and its line.
func TestSecondFile(t *testing.T) {
	const hunk = "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
	const bare = "@@\n one\n-two\n+2\n three\n"
	const second = "@@ -7,2 +7,2 @@\n-seven\n+7\n eight\n"
	for name, tt := range map[string]struct {
		diff string
		line int
	}{
		"git":                             {"diff --git a/f b/f\n--- a/f\n+++ b/f\n" + hunk + "diff --git a/sub/g.go b/sub/g.go\n--- a/sub/g.go\n+++ b/sub/g.go\n" + second, 9},
		"unified":                         {"--- a/f\n+++ b/f\n" + hunk + "--- a/sub/g.go\n+++ b/sub/g.go\n" + second, 8},
		"unified, the first without":      {hunk + "--- a/sub/g.go\n+++ b/sub/g.go\n" + second, 6},
		"+++ without ---":                 {"--- a/f\n+++ b/f\n" + hunk + "+++ b/sub/g.go\n" + second, 8},
		"+++ without ---, bare hunks":     {"--- a/f\n+++ b/f\n" + bare + "+++ b/sub/g.go\n" + second, 8},
		"--- without +++":                 {"--- a/f\n+++ b/f\n" + hunk + "--- a/sub/g.go\n" + second, 8},
		"--- without +++, bare hunks":     {"--- a/f\n+++ b/f\n" + bare + "--- a/sub/g.go\n" + second, 8},
		"Update File":                     {"*** Begin Patch\n*** Update File: f\n" + bare + "*** Update File: sub/g.go\n" + second + "*** End Patch\n", 8},
		"Update File, the first without":  {bare + "*** Update File: sub/g.go\n" + second, 6},
		"Add File":                        {"*** Update File: f\n" + bare + "*** Add File: sub/g.go\n+new\n", 7},
		"Index":                           {"Index: f\n===\n--- f\t(revision 1)\n+++ f\t(working copy)\n" + hunk + "Index: sub/g.go\n===\n" + second, 10},
		"diff -u":                         {"diff -u f.orig f\n--- f.orig\n+++ f\n" + hunk + "diff -u sub/g.go.orig sub/g.go\n" + second, 9},
		"Markdown between fences":         {"In `f`:\n```diff\n" + bare + "```\n\n### sub/g.go\n```diff\n" + second + "```\n", 10},
		"Markdown, with a header":         {"```diff\n--- a/f\n+++ b/f\n" + bare + "```\nand `sub/g.go`:\n```diff\n" + second + "```\n", 10},
		"File":                            {"File: f\n" + bare + "File: sub/g.go\n" + second, 7},
		"headers in CR LF":                {strings.ReplaceAll("--- a/f\n+++ b/f\n"+hunk+"+++ b/sub/g.go\n"+second, "\n", "\r\n"), 8},
		"a second hunk of the first file": {"--- a/f\n+++ b/f\n" + hunk + second + "--- a/sub/g.go\n+++ b/sub/g.go\n" + second, 12},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := run(poem, tt.diff)
			e := fault.As(err)
			require.NotNil(t, e, "%v", err)
			require.Equal(t, fault.InvalidDiff, e.Code)
			require.Contains(t, e.Message, "more than one file")
			require.Contains(t, e.Message, "g.go")
			require.Contains(t, e.Message, strings.ReplaceAll("line N ", "N", itoa(tt.line)))
		})
	}
	for name, diff := range map[string]string{
		"Delete File":       "*** Update File: f\n" + bare + "*** Delete File: sub/g.go\n",
		"Delete File alone": "*** Delete File: sub/g.go\n",
		"Move to":           "*** Update File: f\n*** Move to: sub/g.go\n" + bare,
		"rename":            "diff --git a/f b/g\nrename from f\nrename to sub/g.go\n--- a/f\n+++ b/g\n" + hunk,
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := run(poem, diff)
			e := fault.As(err)
			require.NotNil(t, e, "%v", err)
			require.Equal(t, fault.InvalidDiff, e.Code)
			require.Regexp(t, `g\.go|rename from f`, e.Message)
		})
	}
	// One file, named several times.
	for name, diff := range map[string]string{
		"the same header before each hunk": "--- a/f\n+++ b/f\n" + hunk + "--- a/f\n+++ b/f\n" + second,
		"the same name, then its end":      "*** Update File: dir/f\n" + bare + "*** Update File: f\n" + second,
		"Index and header":                 "Index: dir/f\n--- dir/f\n+++ dir/f\n" + hunk + second,
		"a name in prose below":            "--- a/f\n+++ b/f\n" + hunk + second + "\nSee other/g.go as well.\n",
		"its name in prose between":        "`f.go`:\n```\n" + bare + "```\nand `dir/f.go`:\n```\n" + second + "```\n",
		"text like a header, counts right": "--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+++ b/not.a.file\n three\n" + second,
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := run(poem, diff)
			require.NoError(t, err)
			require.Contains(t, got, "\n2\n")
			require.Contains(t, got, "\n7\n")
		})
	}
}

func itoa(n int) string { return strings.TrimSpace(lineList([]int32{int32(n - 1)})) }

// FS-67: a header is repaired only if there is one.
func TestNoHeaderIsNoCorrection(t *testing.T) {
	outcome{base: poem, diff: "@@ -2,3 +2,3 @@\n two\n-three\n+3\n four\n", want: strings.Replace(poem, "three", "3", 1)}.check(t)
	outcome{base: poem, diff: "+++ b/f\n@@ -2,3 +2,3 @@\n two\n-three\n+3\n four\n", want: strings.Replace(poem, "three", "3", 1), corrections: "0:file_header@0-0"}.check(t)
}
