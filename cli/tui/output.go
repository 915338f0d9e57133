package tui

import (
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/cli/tui/pager"
)

// openOutput opens the output of the last call of the conversation that has some.
func (m *screen) openOutput() {
	for i := len(m.transcript.Blocks) - 1; i >= 0; i-- {
		c, is := m.transcript.Blocks[i].Block.(*blocks.Call)
		if !is {
			continue
		}
		title := c.State.Name + " " + c.State.Description
		if page, err := pager.OpenFile(title, c.Saved()); err == nil {
			m.pager = page
			return
		}
		if output := c.Whole(); len(output) > 0 {
			m.pager = pager.NewOutput(title, output)
			return
		}
	}
	m.notice = "no call has output yet"
}
