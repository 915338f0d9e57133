// Package pager shows a page to read: Markdown, lines of output, or a file of any size. It
// searches and scrolls the page, and does not know where it comes from.
package pager

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/keymap"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/cli/tui/frame"
	"github.com/fettle-dev/fettle/cli/tui/textfield"
)

// Model is a page on the screen. It is not safe for concurrent use.
type Model struct {
	title, text string
	scroller    frame.Scroller

	file   *savedOutput // shown instead of text and output; nil: none
	output []string     // shown with line numbers instead of text; nil: text is shown

	lines []string // of text or output, for the style
	look  blocks.Style

	query     textfield.Model // searched for
	searching bool            // query is being typed
	found     int             // index of the last match in lines
	missing   bool            // there is no match
}

// New returns a page of Markdown.
func New(title, text string) *Model { return &Model{title: title, text: text} }

// View returns at most rows lines: the title, the visible lines and the keys, and the cursor
// while a search is typed.
func (p *Model) View(v blocks.Style, rows int) ([]string, *tea.Cursor) {
	shown, where := p.visible(v, rows-2)
	lines := append([]string{frame.Titled(v, p.title)}, shown...)
	if p.searching {
		text, _, x := p.query.View(max(v.Columns-1, 1), 1)
		return append(lines, "/"+text[0]), tea.NewCursor(1+x, len(lines))
	}
	return append(lines, frame.Footer(v, p.hints(where)...)), nil
}

// visible returns the visible lines, and their position; "" if all are visible.
func (p *Model) visible(v blocks.Style, rows int) (lines []string, where string) {
	if p.file != nil {
		return p.file.view(v, rows)
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
	lines = p.scroller.Window(p.lines, rows)
	return lines, p.scroller.Position()
}

// Scroll moves the page by n rows, down if n > 0.
func (p *Model) Scroll(n int) {
	if p.file != nil {
		p.file.scroll(n)
		return
	}
	p.scroller.Scroll(n)
}

// Paste adds text to the search that is typed, and reports whether there is one.
func (p *Model) Paste(text string) bool {
	if p.searching {
		p.query.Insert(display.Line(text))
	}
	return p.searching
}

// Work returns the next work of the page that takes long, such as the search in a large file,
// nil for none. It is called after each key. The caller performs the work on another
// goroutine, one at a time, and then calls the returned function on the goroutine of the page.
func (p *Model) Work() func(context.Context) (done func()) {
	if p.file == nil {
		return nil
	}
	job := p.file.job()
	if job == nil {
		return nil
	}
	return func(ctx context.Context) func() {
		done := job(ctx)
		return func() { p.missing = !done() }
	}
}

// HasOutput reports whether the page shows lines of output, and no search is being typed.
func (p *Model) HasOutput() bool { return !p.searching && (p.output != nil || p.file != nil) }

// Key handles a key, and reports whether the page closes. Any key ends a search.
func (p *Model) Key(k tea.KeyPressMsg) (closes bool) {
	if p.file != nil {
		p.file.want(nil)
	}
	if p.searching {
		p.searchKey(k)
		return false
	}
	switch action := keymap.FindKey(keymap.Page, k.Keystroke(), k.Text); action {
	case keymap.Close:
		return true
	case keymap.FindText:
		p.searching, p.missing = true, false
		p.query.Reset()
	case keymap.FindNext:
		p.find(1)
	case keymap.FindPrevious:
		p.find(-1)
	default:
		if p.file != nil {
			p.file.do(action)
		} else {
			p.scroller.Do(action)
		}
	}
	return false
}
