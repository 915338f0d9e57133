package sessions

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/services/transcript"
)

// In a terminal of 80 columns no line of the list of sessions is wider than the
// terminal, which would break its words.
func TestListNarrow(t *testing.T) {
	var out strings.Builder
	s := transcript.Summary{Title: strings.Repeat("words and ", 10), Turns: 12, Interrupted: true, Index: 7}
	s.ID = strings.Repeat("0", 32)
	require.NoError(t, listNarrow(&program.Program{Out: &out}, []transcript.Summary{s, s}, 80, func(transcript.Summary) string { return "12 turns" }))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 4)
	require.Contains(t, lines[0], "["+s.ID+"]")
	for _, line := range lines {
		require.LessOrEqual(t, display.Width(line), 80)
	}
	require.True(t, strings.HasSuffix(lines[1], "…"))
}
