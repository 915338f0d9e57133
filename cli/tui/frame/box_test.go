package frame

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
)

// UI-02: the lines of a box are as wide as the screen, whatever it contains.
func TestBoxWidth(t *testing.T) {
	all := theme.New(theme.Options{Name: theme.ANSI, Profile: theme.Profile([]string{"TERM=xterm-256color"}, true)})
	for _, th := range []*theme.Theme{new(theme.Theme), &all, {ASCII: true}} {
		for columns := range 100 {
			v := blocks.Style{Columns: columns + 1, Theme: th}
			b := Box{
				Title: "A title \x1b[2J 日本語", Aside: "an aside", Hints: []Hint{{"one", "hint"}, {"another", "hint"}, {"the", "way out"}},
				Sections: []Section{{Lines: []string{display.Cut("日本語 a line", Inside(v.Columns), ""), ""}}, {Lines: []string{"x"}, Label: "1–9 of 10"}},
			}
			lines := b.Draw(v)
			require.Len(t, lines, BoxRows+4)
			for _, line := range lines {
				require.LessOrEqual(t, display.Width(line), v.Columns, "%q", line)
				if columns > 30 {
					require.Equal(t, v.Columns, display.Width(line), "%q", line)
				}
			}
		}
	}
	require.Equal(t, "a · c", JoinHints([]Hint{{"a", ""}, {"bbbbbb", ""}, {"c", ""}}, 8))
	require.Equal(t, "l…", JoinHints([]Hint{{"a", ""}, {"", "long"}}, 2))
	require.Empty(t, JoinHints(nil, 10))
}
