package patch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// run parses, corrects and applies a diff.
func run(base, diff string) (string, *Change, error) {
	d, err := Parse(diff)
	if err != nil {
		return "", nil, err
	}
	c, err := Correct(base, d)
	if err != nil {
		return "", nil, err
	}
	got, err := ApplyStrict(base, c)
	return got, c, err
}

const (
	poem = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"
	code = "package p\n\nfunc f() {\n\tif a {\n\t\tb()\n\t}\n\treturn\n}\n\nfunc g() {\n\tc()\n\treturn\n}\n"
)

// kinds returns the corrections in short form: kind@first-last.
func kinds(c *Change) string {
	var all []string
	for _, n := range c.Corrections {
		all = append(all, fmt.Sprintf("%d:%s@%d-%d", n.Hunk, n.Kind, n.Lines[0], n.Lines[1]))
	}
	return strings.Join(all, " ")
}

func TestCorrect(t *testing.T) {
	const names = "--- a/f\n+++ b/f\n"
	tests := []struct {
		name        string // requirement first
		base, diff  string
		want        string
		corrections string
	}{
		{"FS-31 right", poem, names + "@@ -2,3 +2,3 @@\n two\n-three\n+3\n four\n", strings.Replace(poem, "three", "3", 1), ""},
		{"FS-31 wrong numbers", poem, names + "@@ -7,3 +9,3 @@\n two\n-three\n+3\n four\n", strings.Replace(poem, "three", "3", 1), "1:line_numbers@2-4"},
		{"FS-31 wrong counts", poem, names + "@@ -2,9 +2 @@\n two\n-three\n+3\n four\n", strings.Replace(poem, "three", "3", 1), "1:line_counts@2-4"},
		{"FS-33 the stated place of two", "a\nb\na\nb\n", names + "@@ -3,2 +3,2 @@\n a\n-b\n+c\n", "a\nb\na\nc\n", ""},
		{"FS-33 the nearest place of two", poem + poem + poem, names + "@@ -12,3 +12,3 @@\n two\n-three\n+3\n four\n",
			poem + strings.Replace(poem, "three", "3", 1) + poem, "1:line_numbers@10-12 1:nearest_place@10-12"},
		{
			"FS-33 the nearest place, shifted as the hunk before", strings.Repeat("x\n", 20) + "first\n" + poem + poem,
			names + "@@ -1 +1 @@\n-first\n+1st\n@@ -10,3 +10,3 @@\n two\n-three\n+3\n four\n",
			strings.Repeat("x\n", 20) + "1st\n" + poem + strings.Replace(poem, "three", "3", 1), "1:line_numbers@21-21 2:line_numbers@31-33 2:nearest_place@31-33",
		},
		{"FS-34 hunks in reverse", poem, names + "@@ -6,2 +6,2 @@\n six\n-seven\n+7\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n",
			"1\ntwo\nthree\nfour\nfive\nsix\n7\neight\n", "0:hunk_order@0-0"},
		{"FS-34 shared context", poem, names + "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n@@ -3,3 +3,3 @@\n three\n-four\n+4\n five\n",
			"one\n2\nthree\n4\nfive\nsix\nseven\neight\n", ""},
		{"FS-34 context that the neighbour changes", poem, names + "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n@@ -2,3 +2,3 @@\n two\n-three\n+3\n four\n",
			"one\n2\n3\nfour\nfive\nsix\nseven\neight\n", ""},
		{"FS-33 two hunks that both begin at the first line", "a\nb\nc\na\nb\nc\n", names + "@@ -1,2 +1,2 @@\n a\n-b\n+x\n@@ -1,5 +1,5 @@\n a\n b\n c\n a\n-b\n+y\n", "a\nx\nc\na\ny\nc\n", ""},
		{"FS-34 plus lines on an empty base", "", names + "@@ -0,0 +1,2 @@\n+a\n+b\n", "a\nb\n", ""},
		{"FS-34 plus lines on an empty base, bare", "", "@@\n+a\n+b\n", "a\nb\n", ""},
		{"FS-36 LF diff on a CRLF file", "a\r\nb\r\nc\r\n", names + "@@ -1,3 +1,4 @@\n a\n-b\n+x\n+y\n c\n", "a\r\nx\r\ny\r\nc\r\n", "1:line_endings@1-3"},
		{"FS-36 CRLF diff on a LF file", "a\nb\nc\n", strings.ReplaceAll(names+"@@ -1,3 +1,4 @@\n a\n-b\n+x\n+y\n c\n", "\n", "\r\n"), "a\nx\ny\nc\n", "1:line_endings@1-3"},
		{"FS-36 CRLF in the content of a diff for a CRLF file", "a\r\nb\r\nc\r\n", names + "@@ -1,3 +1,4 @@\n a\r\n-b\r\n+x\r\n+y\r\n c\r\n", "a\r\nx\r\ny\r\nc\r\n", ""},
		{"FS-36 mixed file: the ending of the replaced line", "a\r\nb\nc\r\n", names + "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n", "a\r\nx\nc\r\n", "1:line_endings@1-3"},
		{"FS-36 mixed file: the ending of the line before", "a\r\nb\nc\r\n", names + "@@ -1,3 +1,4 @@\n a\n+x\n b\n c\n", "a\r\nx\r\nb\nc\r\n", "1:line_endings@1-3"},
		{"FS-36 mixed file: the diff's own endings where it states them all rightly", "a\r\nb\nc\r\n", names + "@@ -1,3 +1,4 @@\n a\r\n+x\n b\n c\r\n", "a\r\nx\nb\nc\r\n", ""},
		{"FS-36 empty context without its blank", "a\n\nb\n", names + "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", "a\n\nc\n", "1:blank_context@1-3"},
		{"indented context without its blank", code, names + "@@ -3,4 +3,4 @@\n func f() {\n\tif a {\n-\t\tb()\n+\t\tbb()\n\t}\n", strings.Replace(code, "b()", "bb()", 1), "1:blank_context@3-6"},
		{"FS-36 trailing blanks in the file", "a  \nb\t\nc\nd\n", names + "@@ -1,4 +1,4 @@\n a\n-b\n+x\n c\n d\n", "a  \nx\nc\nd\n", "1:trailing_whitespace@1-2"},
		{"FS-36 trailing blanks in the diff", "a\nb\nc\nd\n", names + "@@ -1,4 +1,4 @@\n a \n-b\n+x\n c\n d \n", "a\nx\nc\nd\n", "1:trailing_whitespace@1-1 1:trailing_whitespace@4-4"},
		{"FS-36 tabs turned into blanks in context", code, names + "@@ -3,4 +3,4 @@\n func f() {\n     if a {\n-        b()\n+\t\tbb()\n     }\n",
			strings.Replace(code, "b()", "bb()", 1), "1:leading_whitespace@4-6"},
		{"FS-36 look-alikes", "he said “no” – it’s\nold\nend\n", names + "@@ -1,3 +1,3 @@\n he said \"no\" - it's\n-old\n+new\n end\n", "he said “no” – it’s\nnew\nend\n", "1:lookalikes@1-1"},
		{"FS-36 look-alikes in a removed line", "a\u00a0b ‘c’\nend\n", names + "@@ -1,2 +1,2 @@\n-a b 'c'\n+plain\n end\n", "plain\nend\n", "1:lookalikes@1-1"},
		{"FS-36 trailing blanks are the change", "foo  \nbar\n", names + "@@ -1,2 +1,2 @@\n-foo  \n+foo\n bar\n", "foo\nbar\n", ""},
		{"FS-37 add the last newline", "a\nb", names + "@@ -1,2 +1,2 @@\n a\n-b\n" + noNewline + "\n+b\n", "a\nb\n", ""},
		{"FS-37 remove the last newline", "a\nb\n", names + "@@ -1,2 +1,2 @@\n a\n-b\n+b\n" + noNewline + "\n", "a\nb", ""},
		{"FS-37 both without", "a\nb", names + "@@ -1,2 +1,2 @@\n a\n-b\n" + noNewline + "\n+c\n" + noNewline + "\n", "a\nc", ""},
		{"FS-37 no marker, so the file keeps its habit", "a\nb", names + "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a\nc", "1:final_newline@2-2"},
		{"FS-37 marker on both, but the file has a newline", "a\nb\n", names + "@@ -1,2 +1,2 @@\n a\n-b\n" + noNewline + "\n+c\n" + noNewline + "\n", "a\nc\n", "1:final_newline@2-2"},
		{"FS-37 context at the end without marker", "a\nb", names + "@@ -1,2 +1,2 @@\n-a\n+x\n b\n", "x\nb", ""},
		{"FS-37 append below a last line without newline", "a\nb", names + "@@ -1,2 +1,3 @@\n a\n b\n+c\n", "a\nb\nc", "1:final_newline@2-2"},
		{"FS-37 append below, with the markers of a diff program", "a\nb", names + "@@ -1,2 +1,3 @@\n a\n-b\n" + noNewline + "\n+b\n+c\n", "a\nb\nc\n", ""},
		{"FS-37 new file without final newline", "", "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n" + noNewline + "\n", "a", ""},
		{"FS-67 @@ alone", poem, "@@\n two\n-three\n+3\n four\n", strings.Replace(poem, "three", "3", 1), "1:hunk_header@2-4"},
		{"FS-67 @@ ... @@", poem, names + "@@ ... @@\n two\n-three\n+3\n four\n", strings.Replace(poem, "three", "3", 1), "1:hunk_header@2-4"},
		{"FS-67 a section heading alone", code, names + "@@ func f() {\n-\t\tb()\n+\t\tbb()\n \t}\n", strings.Replace(code, "b()", "bb()", 1), "1:hunk_header@5-6"},
		{"FS-67 @@ -1,1 +1,1 @@ throughout", poem, names + "@@ -1,1 +1,1 @@\n two\n-three\n+3\n four\n@@ -1,1 +1,1 @@\n six\n-seven\n+7\n eight\n",
			"one\ntwo\n3\nfour\nfive\nsix\n7\neight\n", "1:line_numbers@2-4 1:line_counts@2-4 2:line_numbers@6-8 2:line_counts@6-8"},
		{"FS-67 git's header lines", poem, "diff --git a/f b/f\nindex 0123456..789abcd 100644\n--- a/f\n+++ b/f\n@@ -2,3 +2,3 @@ section\n two\n-three\n+3\n four\n", strings.Replace(poem, "three", "3", 1), ""},
		{"FS-67 a mode change is left out", poem, "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n--- a/f\n+++ b/f\n@@ -2,3 +2,3 @@\n two\n-three\n+3\n four\n", strings.Replace(poem, "three", "3", 1), "0:file_mode@0-0"},
		{"FS-67 fence and prose", poem, "I did:\n\n```diff\n" + names + "@@ -2,3 +2,3 @@\n two\n-three\n+3\n four\n```\n\n- Enjoy.\n", strings.Replace(poem, "three", "3", 1), "0:code_fence@0-0 0:prose@0-0"},
		{"FS-67 the same header above each hunk", poem, names + "@@ -2,3 +2,3 @@\n two\n-three\n+3\n four\n" + names + "@@ -6,3 +6,3 @@\n six\n-seven\n+7\n eight\n", "one\ntwo\n3\nfour\nfive\nsix\n7\neight\n", ""},
		{"FS-67 blank lines between hunks", poem, names + "@@ -2,3 +2,3 @@\n two\n-three\n+3\n four\n\n@@ -6,3 +6,3 @@\n six\n-seven\n+7\n eight\n\n", "one\ntwo\n3\nfour\nfive\nsix\n7\neight\n", ""},
		{"FS-67 a mailed patch", poem, "From 1\nSubject: x\n\n---\n f | 2 +-\n\n" + names + "@@ -2,3 +2,3 @@\n two\n-three\n+3\n four\n-- \n2.39.5\n\n", strings.Replace(poem, "three", "3", 1), "0:prose@0-0"},
		{"FS-68 final newline missing alone", poem, names + "@@ -2,3 +2,3 @@\n two\n-three\n+3\n four", strings.Replace(poem, "three", "3", 1), ""},
		{"FS-68 only blank context trimmed off", "a\nb\n\n\n", names + "@@ -1,4 +1,4 @@\n a\n-b\n+c", "a\nc\n\n\n", "1:line_counts@1-2"},
		{"FS-69 a line inside the context left out", poem, names + "@@ -1,5 +1,5 @@\n one\n two\n four\n-five\n+5\n six\n", strings.Replace(poem, "five", "5", 1), "1:missing_context@3-3"},
		{"FS-69 a line at the edge of the context left out", poem, names + "@@ -1,5 +1,5 @@\n two\n three\n-five\n+5\n six\n", strings.Replace(poem, "five", "5", 1), "1:line_numbers@2-6 1:line_counts@2-6 1:missing_context@4-4"},
		{"FS-70 context in blanks, added lines in the file's tabs", code, names + "@@\n func g() {\n-    c()\n+\tc2()\n     return\n", strings.Replace(code, "c()", "c2()", 1), "1:hunk_header@10-12 1:leading_whitespace@11-12"},
		{"an empty file remains", "a\n", names + "@@ -1 +0,0 @@\n-a\n", "", ""},
		{"text that looks like file headers, counts right", "-- old\nSELECT 1;\ni = 1\n", names + "@@ -1,3 +1,3 @@\n--- old\n+++i;\n SELECT 1;\n i = 1\n", "++i;\nSELECT 1;\ni = 1\n", ""},
		{"text that looks like file headers, no counts", "-- old\nSELECT 1;\ni = 1\n", names + "@@\n--- old\n+++ new;\n SELECT 1;\n i = 1\n", "++ new;\nSELECT 1;\ni = 1\n", "1:hunk_header@1-3"},
		{"text that looks like file headers above a hunk, counts right", "-- old\nb\nc\nd\n", names + "@@ -1 +1 @@\n--- old\n+++ new\n@@ -4 +4 @@\n-d\n+D\n", "++ new\nb\nc\nD\n", ""},
		{"bytes that are no text", "a\x00\xff\nb\f\u2028\rc\nd\n", names + "@@ -1,3 +1,3 @@\n a\x00\xff\n-b\f\u2028\rc\n+\xfe\x00\n d\n", "a\x00\xff\n\xfe\x00\nd\n", ""},
		{"a very long line", "a\n" + strings.Repeat("x", 1<<20) + "\nb\n", names + "@@ -1,3 +1,3 @@\n a\n-" + strings.Repeat("x", 1<<20) + "\n+short\n b\n", "a\nshort\nb\n", ""},
		{"a context-only hunk beside a real one", poem, names + "@@ -1,2 +1,2 @@\n one\n two\n@@ -6,3 +6,3 @@\n six\n-seven\n+7\n eight\n", strings.Replace(poem, "seven", "7", 1), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, c, err := run(tt.base, tt.diff)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.corrections, kinds(c))
		})
	}
}

func TestRefuse(t *testing.T) {
	const names = "--- a/f\n+++ b/f\n"
	block := "a\nb\nc\n"
	tests := []struct {
		name       string // requirement first
		base, diff string
		code       fault.Code
		says       string // part of message and remedy
	}{
		{"FS-32 absent", poem, names + "@@ -2,3 +2,3 @@\n two\n-thirteen\n+3\n four\n", fault.InvalidDiff, absentMessage},
		{"FS-32 shows the nearest region", poem, names + "@@ -2,3 +2,3 @@\n two\n-thirteen\n+3\n four\n", fault.InvalidDiff, `its removed line "thirteen" is not the content of line 3`},
		{"FS-32 context on an empty base", "", names + "@@ -1 +1 @@\n-a\n+b\n", fault.InvalidDiff, absentMessage},
		{"FS-33 bare @@ with two places", block + block, "@@\n a\n-b\n+x\n c\n", fault.AmbiguousDiff, "begin at lines 1, 4"},
		{"FS-33 an exact tie", block + "m\n" + block, names + "@@ -3,3 +3,3 @@\n a\n-b\n+x\n c\n", fault.AmbiguousDiff, "ambiguous"},
		{"FS-33 a tie of 3 places by stated place", block + block + block, names + "@@ -20,3 +20,3 @@\n a\n-b\n+x\n c\n", fault.AmbiguousDiff, "begin at lines 1, 4, 7"},
		{"FS-33 @@ -1,1 +1,1 @@ with two places", block + block, names + "@@ -1,1 +1,1 @@\n a\n-b\n+x\n c\n", fault.AmbiguousDiff, "no valid line number"},
		{"FS-34 one line changed twice", poem, names + "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n@@ -2,2 +2,2 @@\n-two\n+zwei\n three\n", fault.InvalidDiff, "both change line 2"},
		{"FS-34 two insertions at one place", poem, names + "@@ -1,2 +1,3 @@\n one\n+x\n two\n@@ -1,2 +1,3 @@\n one\n+y\n two\n", fault.InvalidDiff, "both change line 2"},
		{"FS-34 plus lines alone", poem, names + "@@ -1,0 +2,1 @@\n+x\n", fault.InvalidDiff, "place is unknown"},
		{"FS-35 two files", poem, names + "@@ -1 +1 @@\n-one\n+1\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-one\n+1\n", fault.InvalidDiff, "more than one file"},
		{"FS-35 two files, the second renamed", poem, "diff --git a/f b/f\n" + names + "@@ -1 +1 @@\n-one\n+1\ndiff --git a/g b/h\nsimilarity index 100%\nrename from g\nrename to h\n", fault.InvalidDiff, "more than one file"},
		{"FS-35 two files by git's header alone", poem, "diff --git a/my f b/my f\nold mode 100644\nnew mode 100755\ndiff --git a/g b/g\n" + names + "@@ -1 +1 @@\n-one\n+1\n", fault.InvalidDiff, "more than one file"},
		{"FS-35 a file header below hunks without one", poem, "@@ -1 +1 @@\n-one\n+1\n" + names + "@@ -2 +2 @@\n-two\n+2\n", fault.InvalidDiff, "more than one file"},
		{"FS-35 a link", poem, "diff --git a/f b/f\nindex 1de5659..2b2f2e1 120000\n" + names + "@@ -1 +1 @@\n-one\n+1\n", fault.InvalidDiff, "symbolic link"},
		{"FS-35 no hunk", poem, names, fault.InvalidDiff, "no hunk"},
		{"FS-35 empty", poem, "", fault.InvalidDiff, "no hunk"},
		{"FS-35 prose", poem, "Please change two to 2.\n- two\n+ 2\n", fault.InvalidDiff, "no hunk"},
		{"FS-35 nothing changed", poem, names + "@@ -1,2 +1,2 @@\n one\n-two\n+two\n", fault.InvalidDiff, "changes nothing"},
		{"FS-35 what one change takes out, the next puts in", "a\n\n\nb\n", names + "@@ -1,4 +1,4 @@\n a\n-\n \n+\n b\n", fault.InvalidDiff, "changes nothing"},
		{"FS-35 deletes the file", "a\n", "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", fault.InvalidDiff, "deletes the file"},
		{"FS-35 rename", poem, "diff --git a/f b/g\nsimilarity index 90%\nrename from f\nrename to g\n--- a/f\n+++ b/g\n@@ -1 +1 @@\n-one\n+1\n", fault.InvalidDiff, "renames"},
		{"FS-35 binary", poem, "diff --git a/f b/f\nGIT binary patch\nliteral 3\nKcmZ=\n", fault.InvalidDiff, "binary"},
		{"FS-35 combined", poem, "diff --cc f\n--- a/f\n+++ b/f\n@@@ -1,1 -1,1 +1,1 @@@\n- one\n -one\n++1\n", fault.InvalidDiff, "combined"},
		{"FS-36 words differ in a removed line", poem, names + "@@ -2,3 +2,3 @@\n two\n-three and more\n+3\n four\n", fault.InvalidDiff, absentMessage},
		{"FS-36 tabs turned into blanks in two places", "\tx\n\ty\n" + "q\n" + "\tx\n\ty\n", names + "@@ -1,2 +1,2 @@\n     x\n-    y\n+\tz\n", fault.AmbiguousDiff, "ambiguous"},
		{"FS-37 a marker in the middle of a file without final newline", "a\nb\nc", names + "@@ -1 +1 @@\n-a\n" + noNewline + "\n+x\n", fault.InvalidDiff, "marks the end"},
		{"FS-40 one good hunk, one bad", poem, names + "@@ -1 +1 @@\n-one\n+1\n@@ -5 +5 @@\n-nine\n+9\n", fault.InvalidDiff, absentMessage},
		{"FS-67 a line outside every hunk", poem, names + "@@ -1,1 +1,1 @@\n-one\n+1\nand then\n-two\n+2\n", fault.InvalidDiff, "outside of every hunk"},
		{"FS-67 a context line without its blank inside a hunk", poem, names + "@@ -1,3 +1,3 @@\n-one\n+1\ntwo\n-three\n+3\n", fault.InvalidDiff, "outside of every hunk"},
		{"FS-67 fences of a Markdown file that lost their blanks", "a\n```\nb\n```\nc\n", "```diff\n@@\n-a\n+A\n```\n-b\n+B\n```\n c\n```\n", fault.InvalidDiff, "outside of every hunk"},
		{"FS-67 a closed fence before the diff excuses nothing after it", poem, "```\nx\n```\n" + names + "@@ -1 +1 @@\n-one\n+1\nand then\n-two\n+2\n", fault.InvalidDiff, "outside of every hunk"},
		{"FS-68 cut inside an added line", poem, names + "@@ -2,3 +2,3 @@\n two\n-three\n+3 and so", fault.InvalidDiff, "cut off"},
		{"FS-68 cut inside a context line", poem, names + "@@ -2,4 +2,4 @@\n two\n-three\n+3\n fo", fault.InvalidDiff, "cut off"},
		{"FS-68 cut inside a new file", "", names + "@@ -0,0 +1,3 @@\n+one\n+tw", fault.InvalidDiff, "cut off"},
		{"FS-68 cut inside the marker", "a\nb", names + "@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No", fault.InvalidDiff, "cut off"},
		{"FS-68 cut inside a header", poem, names + "@@ -2,3 +2,3 @@\n two\n-three\n+3\n four\n@@ -6,", fault.InvalidDiff, "cut off"},
		{"FS-68 cut after one character of a header", poem, names + "@@ -2,3 +2,3 @@\n two\n-three\n+3\n four\n@", fault.InvalidDiff, "cut off"},
		{"FS-69 a line left out in two places", block + "d\ne\n" + block + "d\ne\n", names + "@@\n a\n c\n-d\n+x\n e\n", fault.AmbiguousDiff, "leaves out a line"},
		{"FS-69 where lines are added", poem, names + "@@ -1,4 +1,5 @@\n one\n two\n+new\n four\n five\n", fault.InvalidDiff, absentMessage},
		{"FS-69 among removed lines", poem, names + "@@ -1,5 +1,3 @@\n one\n-two\n-four\n+x\n five\n six\n", fault.InvalidDiff, absentMessage},
		{"FS-69 an insertion applied already", "one\ntwo\nnew\nthree\nfour\n", names + "@@ -1,4 +1,5 @@\n one\n two\n+new\n three\n four\n", fault.InvalidDiff, "applied already"},
		{"FS-70 blanks throughout", code, names + "@@\n func g() {\n-    c()\n+    c2()\n     return\n", fault.InvalidDiff, "indentation"},
		{"FS-70 indentation lost throughout", code, names + "@@\n func g() {\n-c()\n+c2()\n return\n", fault.InvalidDiff, "indentation"},
		{"FS-70 one indentation for two of the file", "\tf(\n\t\tg,\n\t\th,\n\t)\n", names + "@@\n \tf(\n \tg,\n-\th,\n", fault.InvalidDiff, "not with the same one throughout"},
		{"FS-36 other white space, or a line left out: brackets", "\t}\n}\n\n// text\n", names + "@@ -1,3 +1,3 @@\n-\t}\n+something else\n \n // text\n", fault.AmbiguousDiff, "may leave out a line"},
		{"FS-70 one level too few", "a:\n    b:\n        c: 1\n        d: 2\n", names + "@@ -2,3 +2,4 @@\n   b:\n     c: 1\n+    x: 3\n     d: 2\n", fault.InvalidDiff, "indentation"},
		{"look-alikes that an added line would spread", "it’s “so”\nend\n", names + "@@ -1,2 +1,2 @@\n-it's \"so\"\n+it's \"not so\"\n end\n", fault.InvalidDiff, "look alike"},
		{"an appended line applied already", "a\nb\nc\nd\n", names + "@@ -1,2 +1,3 @@\n a\n b\n+c\n", fault.AmbiguousDiff, "already occurs"},
		{"applied already", "a\nX\nc\n", names + "@@ -1,3 +1,3 @@\n a\n-b\n+X\n c\n", fault.InvalidDiff, "applied already"},
		{"applied already, while the old text stands elsewhere", "k\na\nX\nc\nm\na\nb\nc\n", names + "@@ -2,3 +2,3 @@\n a\n-b\n+X\n c\n", fault.AmbiguousDiff, "already occurs at line 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, c, err := run(tt.base, tt.diff)
			require.Error(t, err, "got %q, %v", got, c)
			require.True(t, refused(err), "%v", err)
			e := fault.As(err)
			require.Equal(t, tt.code, e.Code, "%v", e)
			require.Contains(t, e.Message+"\n"+e.Remedy, tt.says)
		})
	}
}

func TestZeroValues(t *testing.T) {
	_, err := Correct("a\n", new(Diff))
	require.True(t, refused(err))
	require.True(t, new(Change).empty())
	got, err := ApplyStrict("a\n", new(Change))
	require.NoError(t, err)
	require.Equal(t, "a\n", got)
	require.Empty(t, new(Change).Unified("a", "b"))
	require.Zero(t, new(Change).Stat())
}

func TestNames(t *testing.T) {
	// FS-67: wrong names are tolerated; callers can still read them.
	for header, want := range map[string][2]string{
		"--- a/x.go\n+++ b/x.go\n":                             {"x.go", "x.go"},
		"--- x.go\t2024-01-01\n+++ y.go\t2024-01-01\n":         {"x.go", "y.go"},
		"--- \"a/\\303\\244.txt\"\n+++ \"b/\\303\\244.txt\"\n": {"ä.txt", "ä.txt"},
		"": {"", ""},
	} {
		d, err := Parse(header + "@@ -1 +1 @@\n-a\n+b\n")
		require.NoError(t, err)
		o, n := d.oldName, d.newName
		require.Equal(t, want, [2]string{o, n}, header)
	}
}
