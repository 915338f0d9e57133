package patch

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// FS-36: line endings of added lines, and changes of line endings.
func TestEndings(t *testing.T) {
	checkAll(t, []outcome{
		{name: "uniform: added lines keep the file's", base: "a\r\nb\r\nc\r\n", diff: "@@ -1,3 +1,3 @@\n a\r\n-b\r\n+B\n c\r\n", want: "a\r\nB\r\nc\r\n"},
		{name: "uniform: a pair that differs in its ending alone", base: "#!/bin/sh\r\nexit\r\n", diff: "@@ -1,2 +1,2 @@\n-#!/bin/sh\r\n+#!/bin/sh\n exit\r\n", want: "#!/bin/sh\nexit\r\n"},
		{name: "uniform: LF becomes CR LF", base: "a\nb\n", diff: "@@ -1,2 +1,2 @@\n a\n-b\n+b\r\n", want: "a\nb\r\n"},
		{name: "uniform: all lines converted, one of them changed", base: "a\r\nb\r\nc\r\n", diff: "@@ -1,3 +1,3 @@\n-a\r\n-b\r\n-c\r\n+a\n+B\n+c\n", want: "a\nB\nc\n"},
		{name: "uniform: converted, with white space wrong in a removed line", base: "\ta\r\n\tb\r\nc\r\n", diff: "@@ -1,3 +1,3 @@\n-    a\r\n-    b\r\n+\ta\n+\tb\n c\r\n", want: "\ta\n\tb\nc\r\n",
			corrections: "1:leading_whitespace@1-2"},
		{name: "uniform: a pair, though context has lost its CR", base: "a\r\nb\r\n", diff: "@@ -1,2 +1,3 @@\n-a\r\n+a\n+new\n b\n", want: "a\nnew\r\nb\r\n", corrections: "1:line_endings@1-2"},
		{name: "uniform: a line with CR LF added to LF", base: "module x\n\n", diff: "@@ -1,2 +1,3 @@\n module x\n \n+go 1.8\r\n", want: "module x\n\ngo 1.8\r\n"},
		{name: "uniform: all lines replaced", base: "18\r\n", diff: "@@ -1 +1 @@\n-18\r\n+20\n", want: "20\n"},
		{name: "uniform: all lines replaced, by a diff without CR", base: "18\r\n", diff: "@@ -1 +1 @@\n-18\n+20\n", want: "20\r\n", corrections: "1:line_endings@1-1"},
		{name: "uniform LF: the whole diff in CR LF", base: "a\nb\n", diff: "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n", want: "a\nc\n", corrections: "1:line_endings@1-2"},
		{name: "one line mixed in", base: "#!/bin/sh\r\necho\nexit\n", diff: "@@ -1,2 +1,2 @@\n-#!/bin/sh\r\n+#!/bin/sh\n echo\n", want: "#!/bin/sh\necho\nexit\n"},
		{name: "mixed: context states CR, added lines LF", base: "a\r\nb\r\nc\n", diff: "@@ -1,2 +1,4 @@\n a\r\n+x\n+y\r\n b\r\n", want: "a\r\nx\ny\r\nb\r\nc\n"},
		{name: "mixed: each hunk for itself", base: "a\r\nb\r\nc\nd\n", diff: "@@ -1,2 +1,3 @@\n a\n+x\n b\n@@ -3,2 +4,3 @@\n c\n+y\r\n d\n", want: "a\r\nx\r\nb\r\nc\ny\r\nd\n", corrections: "1:line_endings@1-2"},
		{name: "mixed: the diff has lost its CR", base: "a\r\nb\r\nc\nd\n", diff: "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", want: "a\r\nB\r\nc\nd\n", corrections: "1:line_endings@1-3"},
		{name: "several CR", base: "a\r\r\nb\r\r\n", diff: "@@ -1,2 +1,3 @@\n a\r\r\n+x\r\r\n b\r\r\n", want: "a\r\r\nx\r\r\nb\r\r\n"},
		{name: "a diff of CR LF text in CR LF", base: "a\r\nb\n", diff: "@@ -1,2 +1,3 @@\r\n a\r\r\n+x\r\r\n b\r\n", want: "a\r\nx\r\nb\n"},
		{name: "nothing but an ending that is there already", base: "a\nb\n", diff: "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\n", refused: fault.InvalidDiff, says: "changes nothing"},
	})
}

// FS-67: a byte-order mark before the diff is not part of it.
func TestMarkBeforeTheDiff(t *testing.T) {
	outcome{base: "a\nb\n", diff: "\ufeff--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n", want: "a\nc\n"}.check(t)
	outcome{base: "a\nb\n", diff: "\ufeff@@ -1,2 +1,2 @@\n a\n-b\n+c\n", want: "a\nc\n"}.check(t)
}

// FS-36: look-alikes of several characters match in context and removed lines, where the file keeps
// its own; added lines must not spread the spelling.
func TestLookalikes(t *testing.T) {
	file := "// wait… then go on — or “stop”\n• first → second\nx ≤ y\nend\n"
	checkAll(t, []outcome{
		{name: "dots, dashes, arrows and bullets in context", base: file, diff: "@@ -1,4 +1,4 @@\n // wait... then go on -- or \"stop\"\n * first -> second\n x <= y\n-end\n+END\n",
			want: strings.Replace(file, "end", "END", 1), corrections: "1:lookalikes@1-3"},
		{name: "in a removed line", base: file, diff: "@@ -1,2 +1,2 @@\n-// wait... then go on --- or \"stop\"\n+// go\n - first --> second\n", want: strings.Replace(file, "// wait… then go on — or “stop”", "// go", 1),
			corrections: "1:lookalikes@1-2"},
		{name: "the file in ASCII, the diff typographic", base: "a -- b...\nc -> d\n", diff: "@@ -1,2 +1,2 @@\n a — b…\n-c → d\n+c\n", want: "a -- b...\nc\n", corrections: "1:lookalikes@1-2"},
		{name: "two look-alikes of one spelling", base: "a – b\nc\n", diff: "@@ -1,2 +1,2 @@\n a — b\n-c\n+d\n", want: "a – b\nd\n", corrections: "1:lookalikes@1-1"},
		{name: "accents composed otherwise", base: "cafe\u0301\nb\n", diff: "@@ -1,2 +1,2 @@\n caf\u00e9\n-b\n+c\n", want: "cafe\u0301\nc\n", corrections: "1:lookalikes@1-1"},
		{name: "characters without width", base: "a\u200bb\nc\n", diff: "@@ -1,2 +1,2 @@\n ab\n-c\n+d\n", want: "a\u200bb\nd\n", corrections: "1:lookalikes@1-1"},
		{name: "an added line would spread dots", base: file, diff: "@@ -1,2 +1,2 @@\n-// wait... then go on -- or \"stop\"\n+// wait... a bit\n * first -> second\n", refused: fault.InvalidDiff, says: "look alike"},
		{name: "an added line would spread a bullet", base: file, diff: "@@ -2,2 +2,3 @@\n * first -> second\n+* third\n x <= y\n", refused: fault.InvalidDiff, says: "look alike"},
		{name: "an added line would spread another quote of the file", base: file, diff: "@@ -2,2 +2,3 @@\n * first -> second\n+say \"so\"\n x <= y\n", refused: fault.InvalidDiff, says: "look alike"},
		{name: "a dash inside a word is no dash between words", base: file, diff: "@@ -1,2 +1,3 @@\n // wait... then go on - or \"stop\"\n+well-known\n * first -> second\n",
			want: strings.Replace(file, "• first", "well-known\n• first", 1), corrections: "1:lookalikes@1-2"},
		{name: "a word that the hunk has in the file", base: "it’s a test\nit's code\n", diff: "@@ -1,2 +1,3 @@\n it's  a test\n it's code\n", refused: fault.InvalidDiff, says: "nothing"},
		{name: "other ASCII text is other text", base: "i--;\né\n", diff: "@@ -1,2 +1,2 @@\n i-;\n-é\n+e\n", refused: fault.InvalidDiff, says: absentMessage},
	})
}

// A long line of look-alikes costs no more than its length.
func TestLookalikesAreBounded(t *testing.T) {
	base := strings.Repeat("—", 20_000) + "x\nend\n"
	_, _, err := run(base, "@@ -1,2 +1,2 @@\n "+strings.Repeat("-", 30_001)+"y\n-end\n+END\n")
	if !refused(err) {
		t.Fatal(err)
	}
}

// FS-55: the byte-order mark of the file's first line, which a diff shows and decoded text does not
// have.
func TestMark(t *testing.T) {
	for diff, want := range map[string][2]bool{
		"@@ -1,2 +1,2 @@\n \ufeffa\n-b\n+c\n":                              {true, true},
		"@@ -1,2 +1,2 @@\n-\ufeffa\n+\ufeffA\n b\n":                        {true, true},
		"@@ -1,2 +1,2 @@\n-\ufeffa\n+a\n b\n":                              {true, false},
		"@@ -1,2 +1,2 @@\n-a\n+\ufeffa\n b\n":                              {false, true},
		"@@ -1,2 +1,2 @@\n a\n-b\n+c\n":                                    {false, false},
		"@@ -1,2 +1,2 @@\n a\n-\ufeffb\n+c\n":                              {false, false},
		"@@ -4 +4 @@\n-x\n+y\n@@ -1,2 +1,3 @@\n+\ufeffnew\n \ufeffa\n b\n": {true, true},
	} {
		d, err := Parse(diff)
		require.NoError(t, err)
		before, after := d.hasBOM()
		require.Equal(t, want, [2]bool{before, after}, "%q", diff)
		before, after = d.withoutBOM().hasBOM()
		require.False(t, before || after)
	}
	d, err := Parse("@@ -1,2 +1,2 @@\n-\ufeffa\n-b\n+\ufeffa\n+c\n")
	require.NoError(t, err)
	c, err := Correct("a\nb\n", d.withoutBOM())
	require.NoError(t, err)
	got, err := ApplyStrict("a\nb\n", c)
	require.NoError(t, err)
	require.Equal(t, "a\nc\n", got)
}
