package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/markdown"
)

// pager shows something to read and to close.
type pager struct {
	title, text string
	scroller

	lines []string // of text, for the look
	look  look
}

func newPager(title, text string) *pager { return &pager{title: title, text: text} }

func (p *pager) view(v look, rows int) []string {
	if p.lines == nil || p.look != v {
		before := p.lines
		p.look = v
		p.lines = split(strings.Trim(markdown.Render(p.text, v.columns, *v.theme), "\n"))
		p.redrawn(before, p.lines)
	}
	shown := p.window(p.lines, rows-2)
	lines := append([]string{titled(v, p.title)}, shown...)
	keys := "esc closes"
	if where := p.where(); where != "" {
		keys += " · " + where
	}
	return append(lines, v.theme.Dim.Render(display.Cut(keys, v.columns, "…")))
}

// key takes a key, and reports whether the pager is to close.
func (p *pager) key(k tea.KeyPressMsg) (closes bool) {
	switch stroke := k.Keystroke(); stroke {
	case "esc", "q", "enter", "ctrl+c":
		return true
	default:
		p.scroller.key(stroke)
	}
	return false
}

// titled is a rule with a title in it.
func titled(v look, title string) string {
	title = display.Cut(display.Line(title), max(v.columns-5, 1), "…")
	rule := strings.Repeat("─", max(v.columns-4-display.Width(title), 0))
	return display.Cut(v.theme.Border.Render("──")+" "+v.theme.Strong.Render(title)+" "+v.theme.Border.Render(rule), v.columns, "")
}
