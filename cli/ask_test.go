package cli

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

func TestConfirm(t *testing.T) {
	for typed, want := range map[string]scheduler.Outcome{
		"y\n":          scheduler.ProceedOnce,
		"Yes\r\n":      scheduler.ProceedOnce,
		"n\n":          scheduler.Cancel,
		"\n":           scheduler.Cancel,
		"":             scheduler.Cancel,
		"what?\ny\n":   scheduler.ProceedOnce,
		"what?":        scheduler.Cancel,
		"yes please\n": scheduler.Cancel,
	} {
		var out bytes.Buffer
		got, err := confirm(t.Context(), &tools.Confirmation{Title: "T", InfoDetails: &tools.InfoDetails{Prompt: "p"}},
			strings.NewReader(typed), &out, false)
		require.NoError(t, err)
		require.Equal(t, want, got, "%q", typed)
	}
}

func TestConfirmEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, feed := io.Pipe()
	cancel()
	got, err := confirm(ctx, &tools.Confirmation{}, in, io.Discard, false)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, scheduler.Cancel, got)
	require.NoError(t, feed.Close())
}

// What is shown cannot act on the terminal, whatever a file or a path holds.
func TestConfirmationIsSafeToShow(t *testing.T) {
	hostile := "\x1b[2J\x1b]0;title\x07\rAllow\u202e\x9b1m\xff"
	name := "a\x1b[1A\nb"
	text := hostile
	for _, c := range []*tools.Confirmation{
		{Title: hostile, EditDetails: &tools.EditDetails{FilePath: name, FileDiff: "--- a\n+++ b\n@@ -1 +1 @@\n-" + hostile + "\r\n+x\n", OriginalContent: &text}},
		{Title: hostile, ExecDetails: &tools.ExecDetails{Command: hostile}},
		{Title: hostile, MCPDetails: &tools.MCPDetails{ServerName: hostile, ToolName: hostile}},
		{Title: hostile, InfoDetails: &tools.InfoDetails{Prompt: hostile, URLs: []string{hostile}}},
	} {
		shown := renderConfirmation(c, false)
		require.False(t, strings.ContainsFunc(shown, obeyed), "%q", shown)
		require.Contains(t, shown, "<U+001B>")
	}
}

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
