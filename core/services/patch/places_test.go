package patch

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// FS-70: a diff that lost the tabs in one hunk has lost them in the others too, although their
// context does not show it.
func TestSwappedIndentOfAnotherHunk(t *testing.T) {
	const base = "// one\n// two\nfunc f() {\n\ta := 1\n\tb := 2\n\treturn a + b\n}\n"
	first := "@@ -1,2 +1,3 @@\n // one\n+    x := 0\n // two\n"
	lost := "@@ -3,4 +4,3 @@\n func f() {\n     a := 1\n-    b := 2\n     return a + b\n"
	kept := "@@ -3,4 +4,3 @@\n func f() {\n \ta := 1\n-\tb := 2\n \treturn a + b\n"

	correct := func(diff string) (string, error) {
		d, err := Parse(diff)
		require.NoError(t, err)
		c, err := Correct(base, d)
		if err != nil {
			return "", err
		}
		return ApplyStrict(base, c)
	}
	_, err := correct(first + lost)
	require.Equal(t, fault.InvalidDiff, fault.CodeOf(err))
	require.Contains(t, err.Error(), "hunk 1")

	text, err := correct(first + kept)
	require.NoError(t, err)
	require.Equal(t, "// one\n    x := 0\n// two\nfunc f() {\n\ta := 1\n\treturn a + b\n}\n", text)

	text, err = correct(strings.ReplaceAll(first, "    x", "\tx") + lost)
	require.NoError(t, err)
	require.Equal(t, "// one\n\tx := 0\n// two\nfunc f() {\n\ta := 1\n\treturn a + b\n}\n", text)
}

// A line that could begin a mail signature does not cause a scan of the rest: with one at each line
// this test would not end.
func TestParseManySignatures(t *testing.T) {
	_, err := Parse(strings.Repeat("--\n1\n", 500_000) + "@@ -1,1 +1,1 @@\n-a\n+b\n")
	require.NoError(t, err)
	d, err := Parse("@@ -1,1 +1,1 @@\n-a\n+b\n-- \n2.39.5\n\n")
	require.NoError(t, err)
	require.Len(t, d.hunks[0].lines, 2)
}

// FS-69: next to added lines no line may be left out, not even if they replace removed ones: some
// of them may belong after the missing line.
func TestLeftOutBesideAddedLines(t *testing.T) {
	base := ""
	for i := 1; i <= 12; i++ {
		base += "line " + string(rune('a'+i)) + "\n"
	}
	for _, change := range []string{"-line f\n+line F\n", " line f\n+line F\n", "-line f\n+line F\n+line G\n"} {
		d, err := Parse("@@\n line d\n line e\n" + change + " line h\n line i\n")
		require.NoError(t, err)
		_, err = Correct(base, d)
		require.Equal(t, fault.InvalidDiff, fault.CodeOf(err))
	}
}

// FS-67: a wrong name is tolerated and reported.
func TestIsFor(t *testing.T) {
	for header, want := range map[string]bool{
		"":                                 true,
		"--- a/dir/f.go\n+++ b/dir/f.go\n": true,
		"--- dir/f.go\n+++ dir/f.go\n":     true,
		"--- f.go\t2020-01-01 00:00:00\n+++ f.go\t2020-01-01 00:00:01\n": true,
		"--- /dev/null\n+++ b/f.go\n":                                    true,
		"--- /root/dir/f.go\n+++ x\n":                                    true,
		"--- a/f.go.orig\n+++ b/f.go\n":                                  true,
		"--- a/g.go\n+++ b/g.go\n":                                       false,
		"--- a/xf.go\n+++ b/xf.go\n":                                     false,
		"--- a/other/f.go\n+++ b/other/f.go\n":                           false,
	} {
		d, err := Parse(header + "@@ -1 +1 @@\n-a\n+b\n")
		require.NoError(t, err)
		require.Equal(t, want, d.IsFor("/root/dir/f.go"), header)
	}
}
