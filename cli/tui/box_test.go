package tui

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
)

// UI-02: the lines of a box are as wide as the screen, whatever it contains.
func TestBoxWidth(t *testing.T) {
	all := styles()
	for _, th := range []*theme.Theme{new(theme.Theme), &all, {ASCII: true}} {
		for columns := range 100 {
			v := blocks.Style{Columns: columns + 1, Theme: th}
			b := box{
				title: "A title \x1b[2J 日本語", aside: "an aside", hints: []string{"one hint", "another hint", "the way out"},
				sections: []section{{lines: []string{display.Cut("日本語 a line", inside(v.Columns), ""), ""}}, {lines: []string{"x"}, label: "1–9 of 10"}},
			}
			lines := b.draw(v)
			require.Len(t, lines, boxRows+4)
			for _, line := range lines {
				require.LessOrEqual(t, display.Width(line), v.Columns, "%q", line)
				if columns > 30 {
					require.Equal(t, v.Columns, display.Width(line), "%q", line)
				}
			}
		}
	}
	require.Equal(t, "a · c", joinHints([]string{"a", "bbbbbb", "c"}, 8))
	require.Equal(t, "l…", joinHints([]string{"a", "long"}, 2))
	require.Empty(t, joinHints(nil, 10))
}
