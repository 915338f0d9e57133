package diffview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/theme"
)

// TwoColumns is the number of columns of a terminal from which diffs have two columns.
const TwoColumns = 140

const (
	minSide = 24 // columns for the text of one side; with fewer there is one column
	minText = 4  // columns for the text; with fewer there are no line numbers
)

// Style is the appearance of a diff.
type Style struct {
	Columns    int
	TwoColumns bool // lines before the change on the left, after it on the right, if the theme has colours
	Theme      *theme.Theme
}

// Layout is a diff in a style, as lines of a terminal. No line is wider than the
// columns.
type Layout struct {
	d      *Diff
	style  Style
	two    bool
	digits int // of line numbers; 0: none
	left   int // columns for sign and text; in two columns those of the left side
	right  int
	rows   []row
	starts []int // the first terminal line of each row, and the number of lines

	at         int // the row that is being drawn
	olds, news []span
}

// Layout arranges the diff for a terminal. The Diff remembers colours and comparisons
// for the next layout.
func (d *Diff) Layout(s Style) *Layout {
	l := &Layout{d: d, style: s, digits: d.digits, at: -1}
	columns := max(s.Columns, 1)
	side := (columns - 1) / 2
	l.two = s.TwoColumns && s.Theme.Coloured() && side-d.digits-1 >= minSide
	if l.two {
		l.rows, l.left, l.right = d.rows, side-d.digits-1, columns-1-side-d.digits-1
	} else {
		for i := range d.lines {
			l.rows = append(l.rows, row{i, i})
		}
		if l.left = columns - 2*d.digits - 2; l.left < minText {
			l.digits, l.left = 0, columns
		}
	}
	if len(l.rows) > 0 {
		l.rows = l.rows[1:] // the first header
	}
	lines := 0
	for r := range l.rows {
		l.starts = append(l.starts, lines)
		l.enter(r)
		lines += max(len(l.olds), len(l.news))
	}
	l.starts = append(l.starts, lines)
	return l
}

// Len returns the number of lines.
func (l *Layout) Len() int { return l.starts[len(l.starts)-1] }

// enter wraps the lines of a row.
func (l *Layout) enter(r int) {
	if l.at == r {
		return
	}
	l.at, l.olds, l.news = r, nil, nil
	if i := l.rows[r].left; i >= 0 {
		l.olds = l.wrap(i, l.left)
	}
	if i := l.rows[r].right; i >= 0 && l.two {
		l.news = l.wrap(i, l.right)
	}
}

// wrap returns the pieces of a line that fit.
func (l *Layout) wrap(i, columns int) (pieces []span) {
	line := l.d.lines[i]
	if line.Sign == "@@" {
		return []span{{}}
	}
	at := 0
	for _, piece := range display.Break(line.Text, max(columns-len(line.Sign), 1)) {
		pieces = append(pieces, span{at, at + len(piece)})
		at += len(piece)
	}
	return pieces
}

// Lines returns the lines from and before to.
func (l *Layout) Lines(from, to int) (lines []string) {
	for i := from; i < to; i++ {
		lines = append(lines, l.line(i, true))
	}
	return lines
}

// Plain returns the lines from and before to, without marks and colours of code.
func (l *Layout) Plain(from, to int) (lines []string) {
	for i := from; i < to; i++ {
		lines = append(lines, l.line(i, false))
	}
	return lines
}

// line draws a line; in full: with marks and colours of code.
func (l *Layout) line(i int, full bool) string {
	r, found := slices.BinarySearch(l.starts, i)
	if !found {
		r--
	}
	l.enter(r)
	piece := i - l.starts[r]
	left, right := l.rows[r].left, l.rows[r].right
	t := l.style.Theme
	if left >= 0 && l.d.lines[left].Sign == "@@" {
		return display.Cut(t.Hunk.Render(strings.Repeat(" ", l.digits)+" ⋯"), max(l.style.Columns, 1), "")
	}
	if l.two {
		return l.side(left, l.olds, piece, l.left, false, full) + t.Border.Render("│") + l.side(right, l.news, piece, l.right, true, full)
	}
	before, after := l.d.lines[left].Numbers()
	if piece > 0 {
		before, after = "", ""
	}
	gutter := ""
	if l.digits > 0 {
		gutter = fmt.Sprintf("%*s %*s ", l.digits, before, l.digits, after)
	}
	text := l.numbers(left, gutter) + l.text(left, l.olds[piece], l.left, full)
	if l.left < minText {
		return display.Cut(text, max(l.style.Columns, 1), "")
	}
	return text
}

// side draws a line of one side of two columns, with its number.
func (l *Layout) side(i int, pieces []span, piece, columns int, after, full bool) string {
	if i < 0 {
		return strings.Repeat(" ", l.digits+1+columns)
	}
	number, second := l.d.lines[i].Numbers()
	if after {
		number = second
	}
	if piece > 0 {
		number = ""
	}
	gutter := l.numbers(i, fmt.Sprintf("%*s ", l.digits, number))
	if piece >= len(pieces) { // the other side is longer
		base, _ := l.styles(i)
		blank := strings.Repeat(" ", columns)
		if base.Background != nil {
			blank = base.Render(blank)
		}
		return gutter + blank
	}
	text := gutter + l.text(i, pieces[piece], columns, full)
	return text + strings.Repeat(" ", max(l.digits+1+columns-display.Width(text), 0))
}

// numbers draws line numbers, on the background of their line.
func (l *Layout) numbers(i int, text string) string {
	base, _ := l.styles(i)
	style := l.style.Theme.Dim
	style.Background = base.Background
	return style.Render(text)
}

// styles returns the style of a line and of the changed words in it.
func (l *Layout) styles(i int) (line, word theme.Style) {
	t := l.style.Theme
	switch l.d.lines[i].Sign {
	case "+":
		return t.AddedLine, t.AddedWord
	case "-":
		return t.RemovedLine, t.RemovedWord
	case `\`:
		return t.Dim, t.Dim
	}
	return theme.Style{}, theme.Style{}
}

// text draws the sign and a piece of a line. A background continues to the end.
func (l *Layout) text(i int, piece span, columns int, full bool) string {
	base, word := l.styles(i)
	line := l.d.lines[i]
	var b strings.Builder
	sign := base
	switch t := l.style.Theme; line.Sign {
	case "+":
		sign = t.Added.On(base)
	case "-":
		sign = t.Removed.On(base)
	}
	b.WriteString(sign.Render(line.Sign))
	if full {
		l.words(&b, i, piece, base, word)
	} else {
		b.WriteString(base.Render(line.Text[piece.from:piece.to]))
	}
	if base.Background != nil {
		used := len(line.Sign) + display.Width(line.Text[piece.from:piece.to])
		b.WriteString(base.Render(strings.Repeat(" ", max(columns-used, 0))))
	}
	return b.String()
}

// words draws a piece of a line with the marks of its changed words, and the colours of
// its language. A style never begins within a character.
func (l *Layout) words(b *strings.Builder, i int, piece span, base, word theme.Style) {
	line, t := l.d.lines[i].Text, l.style.Theme
	marks := l.d.changed(i)
	end := 0 // of the token
	tokens := l.d.colour(i, t.Backgrounds())
	start, last := piece.from, theme.Style{}
	kind := theme.Style{}
	for at := piece.from; at < piece.to; at += clusterLength(line[at:piece.to]) {
		for end <= at && len(tokens) > 0 {
			end += len(tokens[0].Text)
			kind, tokens = tokens[0].Kind.Style(t), tokens[1:]
		}
		for len(marks) > 0 && marks[0].to <= at {
			marks = marks[1:]
		}
		style := kind.On(base)
		if len(marks) > 0 && marks[0].from <= at {
			style = kind.On(word)
		}
		if style != last {
			b.WriteString(last.Render(line[start:at]))
			start, last = at, style
		}
	}
	b.WriteString(last.Render(line[start:piece.to]))
}
