package textfield

import (
	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/keymap"
)

// Key handles a key that edits the text or moves the cursor, and reports whether it was
// one. The text is shown in rows of at most columns.
func (m *Model) Key(k tea.KeyPressMsg, columns int) bool {
	if action := keymap.Find(keymap.Edit, k.Keystroke()); action != "" {
		return m.Do(action, columns)
	}
	if k.Text == "" {
		return false
	}
	m.Insert(k.Text)
	return true
}

// Do performs an action of the place Edit, and reports whether it was one.
func (m *Model) Do(action keymap.Action, columns int) bool {
	switch action {
	case keymap.Left:
		m.left()
	case keymap.Right:
		m.right()
	case keymap.RowUp:
		m.Vertical(-1, columns)
	case keymap.RowDown:
		m.Vertical(1, columns)
	case keymap.WordLeft:
		m.move(m.wordLeft())
	case keymap.WordRight:
		m.move(m.wordRight())
	case keymap.LineStart:
		m.home()
	case keymap.LineEnd:
		m.last()
	case keymap.TextStart:
		m.move(0)
	case keymap.TextEnd:
		m.move(len(m.text))
	case keymap.DeleteLeft:
		m.delete(m.previous(m.cursor))
	case keymap.DeleteRight:
		m.delete(m.next(m.cursor))
	case keymap.DeleteWordLeft:
		m.kill(m.wordLeft())
	case keymap.DeleteWordRight:
		m.kill(m.wordRight())
	case keymap.DeleteToStart:
		m.kill(m.lineStart(m.cursor))
	case keymap.DeleteToEnd:
		if end := m.lineEnd(m.cursor); end > m.cursor {
			m.kill(end)
		} else {
			m.kill(m.next(m.cursor))
		}
	case keymap.Yank:
		m.yank()
	case keymap.YankOlder:
		m.yankOlder()
	case keymap.Transpose:
		m.transpose()
	case keymap.Undo:
		m.undo()
	case keymap.Redo:
		m.redo()
	case keymap.NewLine:
		m.Insert("\n")
	default:
		return false
	}
	return true
}
