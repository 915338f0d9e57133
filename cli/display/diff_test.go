package display

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/theme"
)

// sixteen is a theme with known colours.
var sixteen = theme.New(theme.Options{Name: theme.ANSI, Profile: colorprofile.ANSI})

func TestDiffColours(t *testing.T) {
	diff := "--- a\n+++ b\n@@ -1,2 +1,2 @@\n same\n--- not a header\n+++ nor this\n\\ No newline at end of file\n"
	require.Equal(t, diff, Diff(diff, theme.Theme{}))
	lines := strings.Split(Diff(diff, sixteen), "\n")
	for i, want := range []theme.Style{sixteen.Strong, sixteen.Strong, sixteen.Hunk, {}, sixteen.Removed, sixteen.Added, sixteen.Dim} {
		require.Equal(t, want.Render(strings.Split(diff, "\n")[i]), lines[i])
	}
	require.Contains(t, Diff(diff, sixteen), "\x1b[31m--- not a header\x1b[0m\n\x1b[32m+++ nor this\x1b[0m\n")
}

// FS-44: the output contains every line of the diff, with its number before and
// after.
func TestNumberedDiff(t *testing.T) {
	diff := "--- a/f\n+++ b/f\n@@ -9,2 +9,3 @@ func f() -1 +1\n nine\n+new\r\n ten\n@@ -99 +100 @@\n--- no header\n+++ nor this\n\\ No newline at end of file\n"
	text, added, removed := NumberedDiff(diff, theme.Theme{})
	require.Equal(t, strings.Join([]string{
		"  9   9  nine",
		"     10 +new␍",
		" 10  11  ten",
		"    ⋯",
		" 99     --- no header",
		"    100 +++ nor this",
		`        \ No newline at end of file`, "",
	}, "\n"), text)
	require.Equal(t, [2]int{2, 1}, [2]int{added, removed})
	coloured, _, _ := NumberedDiff(diff, sixteen)
	require.Contains(t, coloured, sixteen.Removed.Render("--- no header"))
	require.Contains(t, coloured, sixteen.Added.Render("+new␍"))

	for _, odd := range []string{"", "no diff\n", "--- a\n+++ b\n", "@@\n+x", "@@ -x +y @@\n-\n", "@@ -99999999999999999999 +1 @@\n"} {
		require.NotPanics(t, func() { NumberedDiff(odd, sixteen) }, odd)
	}
	text, added, _ = NumberedDiff("@@\n+x", theme.Theme{})
	require.Equal(t, "  0 +x\n", text)
	require.Equal(t, 1, added)
}
