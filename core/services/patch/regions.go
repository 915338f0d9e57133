package patch

import (
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// Region is a run of lines of the new text of a [Change], a change and the unchanged lines around
// it, with the lines of the old text, its base, that it replaces. Lines are counted from 1, first and last
// inclusive; of an empty run, last is one less than first.
type Region struct {
	Lines     [2]int `json:"lines"`
	BaseLines [2]int `json:"base_lines"`
	Content   string `json:"content"` // Lines, each with its ending
}

// Regions returns the changed parts of the new text, in order and disjoint: each change with up to
// three unchanged lines on either side, adjacent ones joined. All other lines of the new text are
// those of the old one, in their order.
func (c *Change) Regions() []Region {
	regions := make([]Region, 0, len(c.fragments))
	for _, f := range c.fragments {
		var text strings.Builder
		for _, l := range f.Lines {
			if l.Op != gitdiff.OpDelete {
				text.WriteString(l.Line)
			}
		}
		regions = append(regions, Region{
			Lines: linesOf(f.NewPosition, f.NewLines), BaseLines: linesOf(f.OldPosition, f.OldLines), Content: text.String(),
		})
	}
	return regions
}

// linesOf returns one side of a fragment as first and last line: a side without lines has the
// number of the previous line.
func linesOf(position, lines int64) [2]int {
	if lines == 0 {
		position++
	}
	return [2]int{int(position), int(position + lines - 1)}
}
