package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
)

// pager shows a page to read and close.
type pager struct {
	title, text string
	scroller

	file   *savedOutput // shown instead of text and output; nil: none
	output []string     // shown with line numbers instead of text; nil: text is shown

	lines []string // of text or output, for the style
	look  blocks.Style

	query     string // searched for
	searching bool   // query is being typed
	found     int    // index of the last match in lines
	missing   bool   // there is no match
}

func newPager(title, text string) *pager { return &pager{title: title, text: text} }

func (p *pager) view(v blocks.Style, rows int) []string {
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
		p.redrawn(before, p.lines)
	}
	shown := p.window(p.lines, rows-2)
	return p.framed(v, shown, p.where())
}

// framed returns lines below the title and above the keys.
func (p *pager) framed(v blocks.Style, shown []string, where string) []string {
	lines := append([]string{titled(v, p.title)}, shown...)
	keys := p.foot()
	if where != "" {
		keys += " · " + where
	}
	return append(lines, v.Theme.Dim.Render(display.Cut(keys, v.Columns, "…")))
}

// key handles a key, and reports whether the pager closes.
func (p *pager) key(k tea.KeyPressMsg) (closes bool) {
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
func (p *pager) move(stroke string) {
	if p.file != nil {
		p.file.key(stroke)
		return
	}
	p.scroller.key(stroke)
}

// titled returns a rule with a title.
func titled(v blocks.Style, title string) string {
	title = display.Cut(display.Line(title), max(v.Columns-5, 1), "…")
	rule := strings.Repeat("─", max(v.Columns-4-display.Width(title), 0))
	return display.Cut(v.Theme.Border.Render("──")+" "+v.Theme.Strong.Render(title)+" "+v.Theme.Border.Render(rule), v.Columns, "")
}
