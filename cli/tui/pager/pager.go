// Package pager shows a page to read: Markdown, lines of output, or a file of any size. It
// searches and scrolls the page, and does not know where it comes from.
package pager

import (
	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/cli/tui/frame"
)

// Model is a page on the screen. It is not safe for concurrent use.
type Model struct {
	title, text string
	scroller    frame.Scroller

	file   *savedOutput // shown instead of text and output; nil: none
	output []string     // shown with line numbers instead of text; nil: text is shown

	lines []string // of text or output, for the style
	look  blocks.Style

	query     string // searched for
	searching bool   // query is being typed
	found     int    // index of the last match in lines
	missing   bool   // there is no match
}

// New returns a page of Markdown.
func New(title, text string) *Model { return &Model{title: title, text: text} }

// View returns at most rows lines: the title, the visible lines and the keys.
func (p *Model) View(v blocks.Style, rows int) []string {
	if p.file != nil {
		shown, where := p.file.view(v, rows-2)
		return p.framed(v, shown, where)
	}
	if p.lines == nil || p.look != v {
		before := p.lines
		p.look = v
		if p.output != nil {
			p.lines = p.numbered(v)
		} else {
			p.lines = v.Markdown(p.text, v.Columns)
		}
		p.scroller.Redrawn(before, p.lines)
	}
	shown := p.scroller.Window(p.lines, rows-2)
	return p.framed(v, shown, p.scroller.Where())
}

// framed returns lines below the title and above the keys.
func (p *Model) framed(v blocks.Style, shown []string, where string) []string {
	lines := append([]string{frame.Titled(v, p.title)}, shown...)
	keys := p.foot()
	if where != "" {
		keys += " · " + where
	}
	return append(lines, v.Theme.Dim.Render(display.Cut(keys, v.Columns, "…")))
}

// Scroll moves the page by n rows, down if n > 0.
func (p *Model) Scroll(n int) {
	if p.file != nil {
		p.file.scroll(n)
		return
	}
	p.scroller.Scroll(n)
}

// Key handles a key, and reports whether the pager closes.
func (p *Model) Key(k tea.KeyPressMsg) (closes bool) {
	if p.searchKey(k) {
		return false
	}
	switch stroke := k.Keystroke(); stroke {
	case "esc", "q", "enter", "ctrl+c":
		return true
	default:
		p.move(stroke)
	}
	return false
}

// move scrolls by a key.
func (p *Model) move(stroke string) {
	if p.file != nil {
		p.file.key(stroke)
		return
	}
	p.scroller.Key(stroke)
}
