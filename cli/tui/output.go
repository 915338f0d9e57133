package tui

import (
	"context"
	"slices"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/keymap"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/cli/tui/pager"
)

// maxOutputs is the maximum number of calls in the list of outputs.
const maxOutputs = 50

// reading is the work of a page on another goroutine.
type reading struct {
	page   *pager.Model
	cancel func()
}

// readMsg is the result of the work of a page.
type readMsg struct {
	from *reading
	done func()
}

// keepReading performs the work of the open page, and ends that of a closed one.
func (m *screen) keepReading() {
	if r := m.reading; r != nil && r.page != m.pager {
		r.cancel()
		m.reading = nil
	}
	if m.pager == nil || m.reading != nil {
		return
	}
	if work := m.pager.Work(); work != nil {
		r := &reading{page: m.pager}
		m.reading = r
		r.cancel = m.h.spawn(func(ctx context.Context) { m.h.box.post(readMsg{r, work(ctx)}) })
	}
}

// read takes the result of the work of a page.
func (m *screen) read(msg readMsg) {
	if msg.from == m.reading {
		m.reading = nil
		msg.done()
	}
}

// openOutput opens the output of the last call of the conversation that has some.
func (m *screen) openOutput() {
	if calls := m.callsWithOutput(1); len(calls) > 0 {
		m.openCall(calls[0])
		return
	}
	m.notice = "no call has output yet"
}

// callsWithOutput returns at most n calls of the conversation that have output, the last one
// first.
func (m *screen) callsWithOutput(n int) (calls []*blocks.Call) {
	for _, b := range slices.Backward(m.transcript.Blocks) {
		if len(calls) == n {
			break
		}
		if c, is := b.Block.(*blocks.Call); is && (c.Saved() != "" || len(c.Whole()) > 0) {
			calls = append(calls, c)
		}
	}
	return calls
}

// openCall opens the output of a call: the file with the whole of it, if that exists.
func (m *screen) openCall(c *blocks.Call) {
	title := c.State.Name + " " + c.State.Description
	page, err := pager.OpenFile(title, c.Saved())
	if err != nil {
		page = pager.NewOutput(title, c.Whole())
	}
	m.pager = page
}

// listOutputs lists the calls with output in place of the page of an output.
func (m *screen) listOutputs() {
	calls := m.callsWithOutput(maxOutputs)
	list := interactive.Pick{Title: "Output of calls, the last one first", Empty: "No call has output."}
	for i, c := range calls {
		item := interactive.PickItem{Name: c.State.Name, Description: c.State.Description, Submit: strconv.Itoa(i)}
		n := len(c.Whole())
		item.State = display.Thousands(n) + " lines"
		if n == 1 {
			item.State = "1 line"
		}
		if c.Saved() != "" {
			item.State = "in a file"
		}
		list.Items = append(list.Items, item)
	}
	m.pager = nil
	m.openList(list)
	m.choose = func(number string) {
		if i, err := strconv.Atoi(number); err == nil {
			m.openCall(calls[i])
		}
	}
}

// pageKey handles a key while a page is shown.
func (m *screen) pageKey(k tea.KeyPressMsg) {
	switch {
	case m.pager.HasOutput() && keymap.Find(keymap.Page, k.Keystroke()) == keymap.OpenOutput:
		m.listOutputs()
	case m.pager.Key(k):
		m.pager = nil
	}
}
