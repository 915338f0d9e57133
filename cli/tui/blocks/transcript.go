// Package blocks is the conversation as the terminal shows it: pieces that draw
// themselves at any width, folded or not, and the transcript that scrolls them.
package blocks

import (
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
)

// Block is a piece of the conversation as it is shown.
type Block interface {
	// Render returns its lines, none wider than the view's columns and each safe to
	// show.
	Render(v Look) []string
	// changes is another number whenever other lines would be rendered.
	changes() int
}

// drawn is a block and its lines as they were rendered last.
type drawn struct {
	Block
	lines   []string
	look    Look
	version int
	valid   bool
}

// Transcript is the conversation, of which a window of some rows is looked at. It
// renders no more than what the window shows, and nothing twice.
type Transcript struct {
	Blocks []*drawn
	// The row at the window's top while it does not follow the end.
	Top      Place
	Scrolled bool
}

// Place is a row of the conversation.
type Place struct{ block, line int }

// Add puts a block at the end.
func (t *Transcript) Add(b Block) { t.Blocks = append(t.Blocks, &drawn{Block: b}) }

// Remove takes a block out.
func (t *Transcript) Remove(b Block) {
	for i, d := range t.Blocks {
		if d.Block == b {
			t.Blocks = append(t.Blocks[:i], t.Blocks[i+1:]...)
			if t.Top.block > i {
				t.Top.block--
			}
			return
		}
	}
}

// Clear drops all blocks.
func (t *Transcript) Clear() { *t = Transcript{} }

// linesOf renders a block, with an empty line above all but the first.
func (t *Transcript) linesOf(i int, v Look) []string {
	d := t.Blocks[i]
	if d.valid && d.look == v && d.version == d.changes() {
		return d.lines
	}
	lines := d.Render(v)
	if i > 0 && len(lines) > 0 && !t.joins(i) {
		lines = append([]string{""}, lines...)
	}
	d.lines, d.look, d.version, d.valid = lines, v, d.changes(), true
	return lines
}

// joins reports whether block i follows the one before it without an empty line, as
// calls of tools do.
func (t *Transcript) joins(i int) bool {
	_, is := t.Blocks[i].Block.(*Call)
	_, was := t.Blocks[i-1].Block.(*Call)
	return is && was
}

// Window returns so many rows, the last ones unless it is scrolled, and whether
// there are more below.
func (t *Transcript) Window(rows int, v Look) (lines []string, more bool) {
	if rows <= 0 {
		return nil, t.Scrolled
	}
	if t.Scrolled {
		t.clamp(v)
		if t.below(rows, v) {
			return t.from(t.Top, rows, v), true
		}
		t.Scrolled = false
	}
	return t.from(t.end(rows, v), rows, v), false
}

// clamp keeps the top within its block, whose lines may have become fewer.
func (t *Transcript) clamp(v Look) {
	if t.Top.block >= len(t.Blocks) {
		t.Top = Place{max(len(t.Blocks)-1, 0), 0}
	}
	if len(t.Blocks) > 0 {
		t.Top.line = max(0, min(t.Top.line, len(t.linesOf(t.Top.block, v))-1))
	}
}

// below reports whether there is something below the window.
func (t *Transcript) below(rows int, v Look) bool {
	n := -t.Top.line
	for i := t.Top.block; i < len(t.Blocks); i++ {
		if n += len(t.linesOf(i, v)); n > rows {
			return true
		}
	}
	return false
}

// end is the place so many rows above the end.
func (t *Transcript) end(rows int, v Look) Place {
	for i := len(t.Blocks) - 1; i >= 0; i-- {
		n := len(t.linesOf(i, v))
		if n >= rows {
			return Place{i, n - rows}
		}
		rows -= n
	}
	return Place{}
}

// from returns so many rows from a place on.
func (t *Transcript) from(p Place, rows int, v Look) []string {
	var lines []string
	for i := p.block; i < len(t.Blocks) && len(lines) < rows; i++ {
		of := t.linesOf(i, v)
		if i == p.block {
			of = of[min(p.line, len(of)):]
		}
		lines = append(lines, of[:min(len(of), rows-len(lines))]...)
	}
	return lines
}

// Scroll moves the window of so many rows by n, up if n < 0.
func (t *Transcript) Scroll(n, rows int, v Look) {
	if len(t.Blocks) == 0 {
		return
	}
	if !t.Scrolled {
		if n > 0 {
			return
		}
		t.Top, t.Scrolled = t.end(rows, v), true
	}
	t.clamp(v)
	t.Top.line += n
	for t.Top.line < 0 && t.Top.block > 0 {
		t.Top.block--
		t.Top.line += len(t.linesOf(t.Top.block, v))
	}
	t.Top.line = max(t.Top.line, 0)
	for t.Top.block < len(t.Blocks)-1 && t.Top.line >= len(t.linesOf(t.Top.block, v)) {
		t.Top.line -= len(t.linesOf(t.Top.block, v))
		t.Top.block++
	}
	if !t.below(rows, v) {
		t.Scrolled = false
	}
}

// All returns every line.
func (t *Transcript) All(v Look) []string {
	var lines []string
	for i := range t.Blocks {
		lines = append(lines, t.linesOf(i, v)...)
	}
	return lines
}

// Split takes text apart into its lines; text that ends with a line feed has none
// behind it.
func Split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// Folded makes foreign text safe to show and breaks it at blanks, and within words
// that are too long.
func Folded(text string, columns int) []string {
	var lines []string
	for _, line := range Split(display.Fold(display.Untab(display.Printable(PlainEnds(text)), 0), "", columns)) {
		lines = append(lines, display.Break(line, columns)...)
	}
	return lines
}

// PlainEnds makes line feeds of the ends of lines.
func PlainEnds(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }
