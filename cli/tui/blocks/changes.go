package blocks

import (
	"fmt"

	"github.com/fettle-dev/fettle/cli/diffview"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/tools"
)

const (
	// fullDiff is the number of lines of a diff in the colours of code.
	fullDiff = 1000
	// shownFiles is the number of files of a set that are listed while details are hidden.
	shownFiles = 8
)

// fileChange is the change of a file in the result of a call.
type fileChange struct {
	title string // kind and path; "": the title of the call has them
	diff  *diffview.Diff
}

// parseChanges parses the changes of files in a result, and reports whether it has any.
func (b *Call) parseChanges(shown tools.Display, v Style) bool {
	if b.files != nil {
		return true
	}
	if d := shown.Diff; d != nil {
		b.files = []fileChange{{diff: diffview.New(d.FileDiff, d.FilePath, v.Colours)}}
		return true
	}
	for _, f := range display.ResultChanges(shown.Text) {
		b.files = append(b.files, fileChange{f.Change, diffview.New(f.Diff, "", v.Colours)})
	}
	return b.files != nil
}

// renderChanges shows the changes of a result: all lines, or with hidden details the
// first ones. Of many lines only the first have the colours of code, because all are
// drawn at once.
func (b *Call) renderChanges(v Style) (lines []string) {
	all, files := 0, b.files
	for _, f := range files {
		all += v.Diff(f.diff).Len()
	}
	room := all
	if !v.Detail {
		if len(files) > shownFiles+1 {
			files = files[:shownFiles]
		}
		if room > shownResult+1 { // a single hidden line takes the place of the note
			room = shownResult
		}
	}
	coloured := min(fullDiff, room)
	for _, f := range files {
		added, removed := f.diff.Stat()
		head := Stat(added, removed, v)
		if f.title != "" {
			head = display.Cut(f.title, max(v.Columns-1-display.Width(head), 8), "…") + " " + head
		}
		l := v.Diff(f.diff)
		n := min(l.Len(), room)
		c := min(n, coloured)
		lines = append(append(append(lines, head), l.Lines(0, c)...), l.Plain(c, n)...)
		room, coloured, all = room-n, coloured-c, all-n
	}
	if hidden := len(b.files) - len(files); hidden > 0 {
		lines = append(lines, v.Theme.Dim.Render(fmt.Sprintf("… %d more files", hidden)))
	}
	if all > 0 {
		lines = append(lines, moreLines(v, all))
	}
	return lines
}
