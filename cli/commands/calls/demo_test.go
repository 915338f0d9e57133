package calls

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/tools"
)

// The script contains no hash and no retry token: each one is copied from a result when
// it is used.
func TestDemoScriptHasNoHash(t *testing.T) {
	for _, turn := range demoScript() {
		for key, v := range turn.args {
			_, isQuoted := v.(quoted)
			require.Equal(t, key == "base_content_sha256", isQuoted, turn.text)
			text, _ := v.(string)
			require.NotContains(t, text, "retry-", turn.text)
		}
	}
}

func TestDemoColours(t *testing.T) {
	var plain, coloured bytes.Buffer
	for out, colour := range map[*bytes.Buffer]bool{&plain: false, &coloured: true} {
		d := &demoPrinter{out: out, dir: "/scratch", colour: colour}
		require.NoError(t, d.Begin(1))
		require.NoError(t, d.Step(demoStep{Step: 1, Title: "Title", Scripted: "words", Expected: true, Answer: &answer{
			Tool: "safe_patch", Display: &tools.Display{Diff: &tools.FileDiff{FileDiff: "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n"}}}}))
		require.NoError(t, d.End(demoSummary{Prevented: []demoRow{{Step: 1, What: "loss", Held: true}}}))
	}
	require.NotContains(t, plain.String(), "\x1b")
	require.Contains(t, coloured.String(), string(display.StyleGreen)+"+b")
	var stripped = coloured.String()
	for _, st := range []display.Style{display.StyleBold, display.StyleDim, display.StyleRed, display.StyleGreen, display.StyleCyan, display.StyleReset} {
		stripped = strings.ReplaceAll(stripped, string(st), "")
	}
	require.Equal(t, plain.String(), stripped, "colour adds nothing but colour")
}
