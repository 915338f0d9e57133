// Package blocks renders the conversation for the terminal: blocks that draw
// themselves at any width, folded or expanded, and the transcript that scrolls them.
//
// The transcript is not the viewport of charm.land/bubbles/v2 (v2.2.1). That one holds all
// lines as text and measures each of them whenever its content is set. The transcript
// renders only the visible blocks, so that a conversation of 10,000 lines is drawn within a
// frame, and keeps its place by block when the window is resized.
package blocks

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
)

// Block is a part of the conversation.
type Block interface {
	// Render returns its lines, none wider than the style's columns and each safe for
	// the terminal.
	Render(v Style) []string
	// changes returns a number that changes whenever Render would return other lines.
	changes() int
}

// drawn is a block with its last rendered lines.
type drawn struct {
	Block
	lines   []string
	look    Style
	version int
	valid   bool
}

// Transcript is the conversation and a scroll window on it. It renders only the
// visible blocks, and each of them once.
type Transcript struct {
	Blocks []*drawn
	// The first row of the window while it does not follow the end.
	Top      Place
	Scrolled bool
}

// Place is a row of the conversation.
type Place struct{ block, line int }

// Add appends a block.
func (t *Transcript) Add(b Block) { t.Blocks = append(t.Blocks, &drawn{Block: b}) }

// AddToPrompt adds a block above the model's answer to the last prompt.
func (t *Transcript) AddToPrompt(b Block) {
	at := len(t.Blocks)
	for i, d := range slices.Backward(t.Blocks) {
		switch d.Block.(type) {
		case *Answer, *Thought:
			at = i
		}
		if _, is := d.Block.(*Prompt); is {
			break
		}
	}
	if at < len(t.Blocks) {
		t.Blocks[at].valid = false // it may join another block now
	}
	t.Blocks = slices.Insert(t.Blocks, at, &drawn{Block: b})
	if t.Top.block >= at {
		t.Top.block++
	}
}

// Remove removes a block.
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

// Clear removes all blocks.
func (t *Transcript) Clear() { *t = Transcript{} }

// linesOf renders a block, with an empty line above all blocks but the first.
func (t *Transcript) linesOf(i int, v Style) []string {
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

// joins reports whether block i follows the previous one without an empty line, as
// tool calls do.
func (t *Transcript) joins(i int) bool {
	_, is := t.Blocks[i].Block.(*Call)
	_, was := t.Blocks[i-1].Block.(*Call)
	return is && was
}

// Window returns rows lines, the last ones unless scrolled, and whether more lines
// follow.
func (t *Transcript) Window(rows int, v Style) (lines []string, more bool) {
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

// clamp keeps the top within its block, which may have become shorter.
func (t *Transcript) clamp(v Style) {
	if t.Top.block >= len(t.Blocks) {
		t.Top = Place{max(len(t.Blocks)-1, 0), 0}
	}
	if len(t.Blocks) > 0 {
		t.Top.line = max(0, min(t.Top.line, len(t.linesOf(t.Top.block, v))-1))
	}
}

// below reports whether lines follow the window.
func (t *Transcript) below(rows int, v Style) bool {
	n := -t.Top.line
	for i := t.Top.block; i < len(t.Blocks); i++ {
		if n += len(t.linesOf(i, v)); n > rows {
			return true
		}
	}
	return false
}

// end returns the place rows lines above the end.
func (t *Transcript) end(rows int, v Style) Place {
	for i := len(t.Blocks) - 1; i >= 0; i-- {
		n := len(t.linesOf(i, v))
		if n >= rows {
			return Place{i, n - rows}
		}
		rows -= n
	}
	return Place{}
}

// from returns rows lines starting at a place.
func (t *Transcript) from(p Place, rows int, v Style) []string {
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

// Scroll moves the window of rows lines by n, up if n < 0.
func (t *Transcript) Scroll(n, rows int, v Style) {
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
func (t *Transcript) All(v Style) []string {
	var lines []string
	for i := range t.Blocks {
		lines = append(lines, t.linesOf(i, v)...)
	}
	return lines
}

// Split splits text into lines; a final line feed adds no empty line.
func Split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// Folded makes foreign text safe for the terminal and wraps it at blanks, and within
// words that are too long.
func Folded(text string, columns int) []string {
	var lines []string
	for _, line := range Split(display.Fold(display.Untab(display.Printable(PlainEnds(text)), 0), "", columns)) {
		lines = append(lines, display.Break(line, columns)...)
	}
	return lines
}

// PlainEnds converts line endings to line feeds.
func PlainEnds(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }
