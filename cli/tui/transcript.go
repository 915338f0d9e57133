package tui

import (
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
)

// block is a piece of the conversation as it is shown.
type block interface {
	// render returns its lines, none wider than the view's columns and each safe to
	// show.
	render(v look) []string
	// changes is another number whenever other lines would be rendered.
	changes() int
}

// drawn is a block and its lines as they were rendered last.
type drawn struct {
	block
	lines   []string
	look    look
	version int
	valid   bool
}

// transcript is the conversation, of which a window of some rows is looked at. It
// renders no more than what the window shows, and nothing twice.
type transcript struct {
	blocks []*drawn
	// The row at the window's top while it does not follow the end.
	top      place
	scrolled bool
}

// place is a row of the conversation.
type place struct{ block, line int }

func (t *transcript) add(b block) { t.blocks = append(t.blocks, &drawn{block: b}) }

// remove takes a block out.
func (t *transcript) remove(b block) {
	for i, d := range t.blocks {
		if d.block == b {
			t.blocks = append(t.blocks[:i], t.blocks[i+1:]...)
			if t.top.block > i {
				t.top.block--
			}
			return
		}
	}
}

func (t *transcript) clear() { *t = transcript{} }

// linesOf renders a block, with an empty line above all but the first.
func (t *transcript) linesOf(i int, v look) []string {
	d := t.blocks[i]
	if d.valid && d.look == v && d.version == d.changes() {
		return d.lines
	}
	lines := d.render(v)
	if i > 0 && len(lines) > 0 && !t.joins(i) {
		lines = append([]string{""}, lines...)
	}
	d.lines, d.look, d.version, d.valid = lines, v, d.changes(), true
	return lines
}

// joins reports whether block i follows the one before it without an empty line, as
// calls of tools do.
func (t *transcript) joins(i int) bool {
	_, is := t.blocks[i].block.(*callBlock)
	_, was := t.blocks[i-1].block.(*callBlock)
	return is && was
}

// window returns so many rows, the last ones unless it is scrolled, and whether
// there are more below.
func (t *transcript) window(rows int, v look) (lines []string, more bool) {
	if rows <= 0 {
		return nil, t.scrolled
	}
	if t.scrolled {
		t.clamp(v)
		if t.below(rows, v) {
			return t.from(t.top, rows, v), true
		}
		t.scrolled = false
	}
	return t.from(t.end(rows, v), rows, v), false
}

// clamp keeps the top within its block, whose lines may have become fewer.
func (t *transcript) clamp(v look) {
	if t.top.block >= len(t.blocks) {
		t.top = place{max(len(t.blocks)-1, 0), 0}
	}
	if len(t.blocks) > 0 {
		t.top.line = max(0, min(t.top.line, len(t.linesOf(t.top.block, v))-1))
	}
}

// below reports whether there is something below the window.
func (t *transcript) below(rows int, v look) bool {
	n := -t.top.line
	for i := t.top.block; i < len(t.blocks); i++ {
		if n += len(t.linesOf(i, v)); n > rows {
			return true
		}
	}
	return false
}

// end is the place so many rows above the end.
func (t *transcript) end(rows int, v look) place {
	for i := len(t.blocks) - 1; i >= 0; i-- {
		n := len(t.linesOf(i, v))
		if n >= rows {
			return place{i, n - rows}
		}
		rows -= n
	}
	return place{}
}

// from returns so many rows from a place on.
func (t *transcript) from(p place, rows int, v look) []string {
	var lines []string
	for i := p.block; i < len(t.blocks) && len(lines) < rows; i++ {
		of := t.linesOf(i, v)
		if i == p.block {
			of = of[min(p.line, len(of)):]
		}
		lines = append(lines, of[:min(len(of), rows-len(lines))]...)
	}
	return lines
}

// scroll moves the window of so many rows by n, up if n < 0.
func (t *transcript) scroll(n, rows int, v look) {
	if len(t.blocks) == 0 {
		return
	}
	if !t.scrolled {
		if n > 0 {
			return
		}
		t.top, t.scrolled = t.end(rows, v), true
	}
	t.clamp(v)
	t.top.line += n
	for t.top.line < 0 && t.top.block > 0 {
		t.top.block--
		t.top.line += len(t.linesOf(t.top.block, v))
	}
	t.top.line = max(t.top.line, 0)
	for t.top.block < len(t.blocks)-1 && t.top.line >= len(t.linesOf(t.top.block, v)) {
		t.top.line -= len(t.linesOf(t.top.block, v))
		t.top.block++
	}
	if !t.below(rows, v) {
		t.scrolled = false
	}
}

// all returns every line.
func (t *transcript) all(v look) []string {
	var lines []string
	for i := range t.blocks {
		lines = append(lines, t.linesOf(i, v)...)
	}
	return lines
}

// split takes text apart into its lines; text that ends with a line feed has none
// behind it.
func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// folded makes foreign text safe to show and breaks it at blanks, and within words
// that are too long.
func folded(text string, columns int) []string {
	var lines []string
	for _, line := range split(display.Fold(display.Untab(display.Printable(plainEnds(text)), 0), "", columns)) {
		lines = append(lines, display.Break(line, columns)...)
	}
	return lines
}

// plainEnds makes line feeds of the ends of lines.
func plainEnds(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }
