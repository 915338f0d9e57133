package picker

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
)

func numbers(n int) interactive.Pick {
	p := interactive.Pick{Title: "Numbers", Empty: "No numbers."}
	for i := range n {
		p.Items = append(p.Items, interactive.PickItem{Name: fmt.Sprintf("number-%d 日本", i+1), State: "state", Description: fmt.Sprintf("the square is %d", (i+1)*(i+1)), Submit: fmt.Sprint("/n ", i+1), Detail: "detail\nof it"})
	}
	return p
}

// UI-04: a list is within its rows and columns at every size, and shows the selected item.
func TestSizes(t *testing.T) {
	p := New(numbers(40))
	p.filter.Insert("n1")
	p.refilter()
	p.Scroll(5)
	for columns := 14; columns < 90; columns += 3 {
		for rows := range 30 {
			v := blocks.Style{Columns: columns, Theme: new(theme.Theme)}
			lines, cursor := p.View(v, rows)
			require.LessOrEqual(t, len(lines), max(rows, frameRows+1))
			for _, line := range lines {
				require.LessOrEqual(t, display.Width(line), columns, "%dx%d: %q", columns, rows, line)
			}
			require.Less(t, cursor.X, columns)
		}
	}
}

// A list of 10,000 items draws and filters within a frame's order of magnitude: the
// widths are measured once.
func BenchmarkPicker(b *testing.B) {
	p := New(numbers(10_000))
	v := blocks.Style{Columns: 200, Theme: new(theme.Theme)}
	for b.Loop() {
		p.filter.Set("n99")
		p.refilter()
		p.View(v, 40)
	}
}
