package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/tools"
)

func TestRenderDiffColours(t *testing.T) {
	diff := "--- a\n+++ b\n@@ -1,2 +1,2 @@\n same\n--- not a header\n+++ nor this\n\\ No newline at end of file\n"
	require.Equal(t, diff, renderDiff(diff, false))
	lines := strings.Split(renderDiff(diff, true), "\n")
	for i, want := range []style{styleBold, styleBold, styleCyan, "", styleRed, styleGreen, styleDim} {
		if want == "" {
			require.NotContains(t, lines[i], "\x1b")
			continue
		}
		require.True(t, strings.HasPrefix(lines[i], string(want)), "line %d: %q", i, lines[i])
	}
}

// FS-44: every line of the diff is there, with its number before and after.
func TestRenderNumberedDiff(t *testing.T) {
	diff := "--- a/f\n+++ b/f\n@@ -9,2 +9,3 @@ func f() -1 +1\n nine\n+new\r\n ten\n@@ -99 +100 @@\n--- no header\n+++ nor this\n\\ No newline at end of file\n"
	text, added, removed := renderNumberedDiff(diff, false)
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
	coloured, _, _ := renderNumberedDiff(diff, true)
	require.Contains(t, coloured, string(styleRed)+"--- no header"+string(styleReset))
	require.Contains(t, coloured, string(styleGreen)+"+new␍"+string(styleReset))

	for _, odd := range []string{"", "no diff\n", "--- a\n+++ b\n", "@@\n+x", "@@ -x +y @@\n-\n", "@@ -99999999999999999999 +1 @@\n"} {
		require.NotPanics(t, func() { renderNumberedDiff(odd, true) }, odd)
	}
	text, added, _ = renderNumberedDiff("@@\n+x", false)
	require.Equal(t, "  0 +x\n", text)
	require.Equal(t, 1, added)
}

// AR-27: a preview looks like the question that it stands for.
func TestRenderPreview(t *testing.T) {
	require.Equal(t, "\nPlan mode: what a tool would do. Nothing was changed.\nwork\n", renderPreview("a\ntool", tools.TextDisplay("work"), false))
	require.Equal(t, "\nPlan mode: what write_file would do. Nothing was changed.\nnew file: /w/a  +1 \u22120\n  1 +x\n",
		renderPreview("write_file", tools.Display{Diff: &tools.FileDiff{FilePath: "/w/a", FileDiff: "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n", IsNewFile: true}}, false))
}
