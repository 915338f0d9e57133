package patch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// The result of a diff: the new text, or a part of the error's text.
type outcome struct {
	name, base, diff string
	want             string
	corrections      string
	refused          fault.Code
	says             string
}

func (o outcome) check(t *testing.T) {
	t.Helper()
	got, c, err := run(o.base, o.diff)
	if o.refused != "" {
		require.Error(t, err, "got %q", got)
		require.True(t, refused(err), "%v", err)
		e := fault.As(err)
		require.Equal(t, o.refused, e.Code, "%v", e)
		require.Contains(t, e.Message+"\n"+e.Remedy, o.says)
		return
	}
	require.NoError(t, err)
	require.Equal(t, o.want, got)
	require.Equal(t, o.corrections, kinds(c))
}

func checkAll(t *testing.T, outcomes []outcome) {
	t.Helper()
	for _, o := range outcomes {
		t.Run(o.name, o.check)
	}
}

// FS-31, FS-33, FS-34: the hunks of a diff are placed together, and exact matches at the stated
// lines take precedence.
func TestPlacement(t *testing.T) {
	equal := strings.Repeat("x\n", 20)
	block := "begin\n\tone\n\ttwo\nend\n"
	changed := "begin\n\tone\n\tTWO\nend\n"
	far := strings.Repeat("filler\n", 30)
	checkAll(t, []outcome{
		{name: "a deletion beside equal lines", base: equal, diff: "@@ -5,7 +5,6 @@\n x\n x\n x\n-x\n x\n x\n x\n", want: strings.Repeat("x\n", 19)},
		{name: "an insertion of an equal line", base: equal, diff: "@@ -5,6 +5,7 @@\n x\n x\n x\n+x\n x\n x\n x\n", want: strings.Repeat("x\n", 21)},
		{name: "a block made like the one before it", base: changed + block, diff: "@@ -5,4 +5,4 @@\n begin\n \tone\n-\ttwo\n+\tTWO\n end\n", want: changed + changed},
		{name: "a block made like the one before it, without numbers", base: changed + block, diff: "@@\n begin\n \tone\n-\ttwo\n+\tTWO\n end\n", want: changed + changed, corrections: "1:hunk_header@5-8"},
		{name: "the result stands nearer to the stated place", base: changed + far + block, diff: "@@ -2,4 +2,4 @@\n begin\n \tone\n-\ttwo\n+\tTWO\n end\n",
			refused: fault.AmbiguousDiff, says: "already occurs at line 1"},
		{name: "one line at line 1 with counts of one", base: "a\nb\na\n", diff: "@@ -1,1 +1,1 @@\n-a\n+A\n", want: "A\nb\na\n"},
		{name: "each hunk has a copy, without numbers", base: block + block + block, diff: strings.Repeat("@@\n begin\n \tone\n-\ttwo\n+\tTWO\n end\n", 3),
			want: changed + changed + changed, corrections: "1:hunk_header@1-4 2:hunk_header@5-8 3:hunk_header@9-12"},
		{name: "two hunks for three copies", base: block + block + block, diff: strings.Repeat("@@\n begin\n \tone\n-\ttwo\n+\tTWO\n end\n", 2),
			refused: fault.AmbiguousDiff, says: "begin at lines 1, 5"},
		{name: "a place that another hunk takes", base: block + "middle\n" + block, diff: "@@\n-middle\n+MIDDLE\n@@\n begin\n \tone\n-\ttwo\n+\tTWO\n end\n",
			want: block + "MIDDLE\n" + changed, corrections: "1:hunk_header@5-5 2:hunk_header@6-9"},
		{name: "a place beyond the first tier that the order excludes", base: "a:\n  v  \nmiddle\nb:\n  v  \n", diff: "@@\n-middle\n+MIDDLE\n@@\n-  v\n+  w\n",
			want: "a:\n  v  \nMIDDLE\nb:\n  w\n", corrections: "1:hunk_header@3-3 2:hunk_header@5-5 2:trailing_whitespace@5-5"},
		{name: "hunks in reverse with one place each", base: poem, diff: "@@\n-seven\n+7\n@@\n-one\n+1\n", want: strings.NewReplacer("one", "1", "seven", "7").Replace(poem),
			corrections: "0:hunk_order@0-0 1:hunk_header@7-7 2:hunk_header@1-1"},
		{name: "clearly nearer by ten lines and half as far again", base: "q\n" + strings.Repeat("f\n", 49) + "q\n", diff: "@@ -21 +21 @@\n-q\n+Q\n",
			want: "Q\n" + strings.Repeat("f\n", 49) + "q\n", corrections: "1:line_numbers@1-1 1:nearest_place@1-1"},
		{name: "nearer, but not by ten lines", base: "q\n" + strings.Repeat("f\n", 14) + "q\n", diff: "@@ -7 +7 @@\n-q\n+Q\n", refused: fault.AmbiguousDiff, says: "does not clearly point"},
		{name: "nearer, but not by half", base: "q\n" + strings.Repeat("f\n", 59) + "q\n", diff: "@@ -26 +26 @@\n-q\n+Q\n", refused: fault.AmbiguousDiff, says: "does not clearly point"},
		{name: "applied already, where the old lines fit nowhere", base: changed, diff: "@@\n begin\n \tone\n-\ttwo\n+\tTWO\n end\n", refused: fault.InvalidDiff, says: "applied already"},
		{name: "lines appended already", base: "a\nb\nc\nd\n", diff: "@@ -1,2 +1,3 @@\n a\n b\n+c\n", refused: fault.AmbiguousDiff, says: "already occurs"},
		{name: "an equal line appended at the end", base: "a\nc\nb\nc\n", diff: "@@ -2,3 +2,4 @@\n c\n b\n c\n+c\n", want: "a\nc\nb\nc\nc\n"},
	})
}

// FS-33: correctly numbered hunks apply however often their lines occur in the file, and all finish
// quickly, whatever their numbers are.
func TestEqualLines(t *testing.T) {
	const lines, hunks = 100_000, 200
	base := strings.Repeat("x\n", lines)
	diff := func(shift int) string {
		var b strings.Builder
		for k := range hunks {
			at := 1 + k*(lines/hunks) + shift
			fmt.Fprintf(&b, "@@ -%d,7 +%d,7 @@\n x\n x\n x\n-x\n+y%d\n x\n x\n x\n", at, at, k)
		}
		return b.String()
	}
	got, c, err := run(base, diff(0))
	require.NoError(t, err)
	require.Empty(t, c.Corrections)
	for k := range hunks {
		require.Contains(t, got, fmt.Sprintf("y%d\n", k))
	}
	require.Equal(t, lines-hunks, strings.Count(got, "x\n"))
	_, _, err = run(base, strings.ReplaceAll(diff(0), "@@ -", "@@ x"))
	require.True(t, refused(err), "%v", err)
	_, _, err = run(base, diff(0)+"@@ -99999 +99999 @@\n-z\n+Z\n")
	require.True(t, refused(err), "%v", err)
}

// FS-69: one line of the file is missing from a hunk, and there is only one way to put it back.
func TestLeftOutLine(t *testing.T) {
	list := "func f() {\n\tone()\n\ttwo()\n\tthree()\n\tif four {\n\t\tfive()\n\t}\n\tsix()\n\tseven()\n}\n"
	swap := func(old, new string) string { return strings.Replace(list, old, new, 1) }
	checkAll(t, []outcome{
		{name: "with two lines of text", base: "a\nb\nc\n", diff: "@@ -1,2 +1,2 @@\n a\n-c\n+x\n", want: "a\nb\nx\n", corrections: "1:missing_context@2-2"},
		{name: "with one line of text", base: "\nb\nc\n", diff: "@@ -1,2 +1,2 @@\n \n-c\n+x\n", refused: fault.InvalidDiff, says: absentMessage},
		{name: "among removed lines", base: list, diff: "@@ -2,4 +2,2 @@\n \tone()\n-\ttwo()\n-\tif four {\n \t\tfive()\n", want: swap("\ttwo()\n\tthree()\n\tif four {\n", "\tthree()\n"),
			corrections: "1:missing_context@4-4"},
		{name: "among removed lines, one of which the header counts", base: list, diff: "@@ -2,5 +2,2 @@\n \tone()\n-\ttwo()\n-\tif four {\n \t\tfive()\n",
			refused: fault.InvalidDiff, says: "leaves out line 4"},
		{name: "among removed lines that others replace", base: list, diff: "@@\n \tone()\n-\ttwo()\n-\tif four {\n+\tchanged()\n \t\tfive()\n", refused: fault.InvalidDiff, says: "leaves out line 4"},
		{name: "behind the new version of a line", base: list, diff: "@@\n \tone()\n-\ttwo()\n+\ttwo(1)\n \tif four {\n \t\tfive()\n", want: swap("two()", "two(1)"),
			corrections: "1:hunk_header@2-6 1:missing_context@4-4"},
		{name: "behind another line", base: list, diff: "@@\n \tone()\n-\ttwo()\n+\tsomething else\n \tif four {\n \t\tfive()\n", refused: fault.InvalidDiff, says: "leaves out line 4"},
		{name: "behind a line that is as much like the missing one", base: "a\nitem 1\nitem 2\nb\nc\n", diff: "@@\n a\n-item 1\n+item 3\n b\n c\n", refused: fault.InvalidDiff, says: "leaves out line 3"},
		{name: "beside an added line", base: list, diff: "@@\n \tone()\n+\tnew()\n \tthree()\n \tif four {\n", refused: fault.InvalidDiff, says: "leaves out line 3"},
		{name: "a closing bracket behind deeper lines", base: list, diff: "@@\n \tif four {\n \t\tfive()\n+\t\tnew()\n \tsix()\n \tseven()\n", want: swap("five()\n", "five()\n\t\tnew()\n"),
			corrections: "1:hunk_header@5-9 1:missing_context@7-7"},
		{name: "a closing bracket behind lines that are not deeper", base: list, diff: "@@\n \tif four {\n \t\tfive()\n+\tnew()\n \tsix()\n \tseven()\n", refused: fault.InvalidDiff, says: "leaves out line 7"},
		{name: "a closing bracket, though the rest fits with other indentation", base: "f {\n\tif {\n\t\tx\n\t}\n}\nend\n", diff: "@@ -1,5 +1,5 @@\n f {\n \tif {\n \t\tx\n }\n-end\n+END\n",
			want: "f {\n\tif {\n\t\tx\n\t}\n}\nEND\n", corrections: "1:missing_context@4-4"},
		{name: "an opening bracket before deeper lines", base: "void f()\n{\n\tone();\n}\n", diff: "@@\n void f()\n+\tnew();\n \tone();\n }\n", want: "void f()\n{\n\tnew();\n\tone();\n}\n",
			corrections: "1:hunk_header@1-4 1:missing_context@2-2"},
		{name: "one of two lines that differ in their endings", base: "b\n\na\r\na\n\nc\n", diff: "@@ -1,4 +1,3 @@\n b\n \n-a\n \n", refused: fault.InvalidDiff, says: "leaves out line 3"},
		{name: "where the hunk is stated its lines stand in another order", base: "a\nb\nc\nd\n" + strings.Repeat("f\n", 9) + "b\nx\na\nc\nd\n", diff: "@@ -1,4 +1,4 @@\n b\n a\n c\n-d\n+D\n",
			refused: fault.AmbiguousDiff, says: "different order"},
		{name: "the last line, with the marker at the one before it", base: "a\nb\nc\nd", diff: "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n" + noNewline + "\n", want: "a\nB\nc\nd"},
	})
}

// FS-36: a line that is removed and added again loses the file's trailing white space; context
// keeps it.
func TestStripsTrailingSpace(t *testing.T) {
	checkAll(t, []outcome{
		{name: "one line", base: "a\nb  \nc\n", diff: "@@ -1,3 +1,3 @@\n a\n-b\n+b\n c\n", want: "a\nb\nc\n", corrections: "1:trailing_whitespace@2-2"},
		{name: "several lines, beside context", base: "a \nb\t\nc  \nd\n", diff: "@@ -1,4 +1,4 @@\n a\n-b\n-c\n+b\n+c\n d\n", want: "a \nb\nc\nd\n", corrections: "1:trailing_whitespace@1-3"},
		{name: "beside a change", base: "a  \nb\nc\n", diff: "@@ -1,3 +1,3 @@\n-a\n-b\n+a\n+x\n c\n", want: "a\nx\nc\n", corrections: "1:trailing_whitespace@1-1"},
		{name: "where an equal line needs nothing", base: "k\nb\nc\nb  \nd\n", diff: "@@ -4 +4 @@\n-b\n+b\n", want: "k\nb\nc\nb\nd\n", corrections: "1:trailing_whitespace@4-4"},
		{name: "nothing to strip", base: "a\nb\nc\n", diff: "@@ -1,3 +1,3 @@\n a\n-b\n+b\n c\n", refused: fault.InvalidDiff, says: "changes nothing"},
		{name: "another indentation", base: "\ta\nb\n", diff: "@@ -1,2 +1,2 @@\n-a\n-b\n+a\n+x\n", refused: fault.InvalidDiff, says: "adds it again"},
		{name: "two such lines", base: "a\nb  \nc\na\nb \nc\n", diff: "@@\n a\n-b\n+b\n c\n", refused: fault.AmbiguousDiff, says: "single place"},
	})
}
