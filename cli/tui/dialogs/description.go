package dialogs

import (
	"slices"

	"github.com/fettle-dev/fettle/cli/diffview"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
)

// description is the lines that describe a call. Its diffs are without colours of code,
// until they are visible; see draw.
type description struct {
	lines   []string
	colours bool // lines have colours of code
	shown   []shownDiff
	diffs   map[string]*diffview.Diff // by text; they keep their colours at another width
}

// shownDiff is a diff between the lines.
type shownDiff struct {
	*diffview.Layout
	at int // its first line
}

func (d *description) add(lines ...string) { d.lines = append(d.lines, lines...) }

// parse returns a diff of the call.
func (d *description) parse(text, path string, v blocks.Style) *diffview.Diff {
	diff := d.diffs[text]
	if diff == nil {
		if d.diffs == nil {
			d.diffs = map[string]*diffview.Diff{}
		}
		diff = diffview.New(text, path, v.Colours)
		d.diffs[text] = diff
	}
	return diff
}

// addDiff adds the lines of a diff.
func (d *description) addDiff(diff *diffview.Diff, v blocks.Style) {
	l := v.Diff(diff)
	d.shown = append(d.shown, shownDiff{l, len(d.lines)})
	d.add(l.Plain(0, l.Len())...)
}

// draw returns the visible lines, the first of which is the line from, with their diffs
// in full.
func (d *description) draw(visible []string, from int) []string {
	lines := slices.Clone(visible)
	for _, s := range d.shown {
		first, end := max(s.at, from), min(s.at+s.Len(), from+len(lines))
		if first < end {
			copy(lines[first-from:], s.Lines(first-s.at, end-s.at))
		}
	}
	return lines
}
