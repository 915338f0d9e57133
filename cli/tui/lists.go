package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/cli/tui/picker"
)

// previewed is the theme that the selected item of a list previews.
type previewed struct {
	name       string // "": none was previewed
	before     theme.Theme
	beforeName string
}

// openList shows a list in place of the input.
func (m *screen) openList(pick interactive.Pick) {
	m.closeList()
	m.picker, m.choose = picker.New(pick), m.submit
	m.preview()
}

// listKey handles a key while a list is shown.
func (m *screen) listKey(k tea.KeyPressMsg) {
	switch m.picker.Key(k) {
	case picker.Closed:
		m.closeList()
		return
	case picker.Chosen:
		item := *m.picker.Selected()
		m.picker, m.previewed = nil, previewed{} // a previewed theme remains
		m.choose(item.Submit)
		return
	case picker.Typed:
		m.typedAt = m.h.now()
	case picker.Moved:
	}
	m.preview()
}

// preview displays the screen in the theme of the selected item.
func (m *screen) preview() {
	item := m.picker.Selected()
	if item == nil || item.Theme == "" || item.Theme == m.previewed.name {
		return
	}
	if m.previewed.name == "" {
		m.previewed.before, m.previewed.beforeName = m.o.Theme, m.themeName
	}
	m.previewed.name = item.Theme
	m.useTheme(item.Theme)
}

// closeList closes the list without a choice, and restores the theme.
func (m *screen) closeList() {
	if m.previewed.name != "" {
		m.themeName = m.previewed.beforeName
		m.setTheme(m.previewed.before)
	}
	m.picker, m.previewed = nil, previewed{}
}
