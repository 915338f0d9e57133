package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/keymap"
)

// editKey handles a key that edits a text or moves the cursor, and reports whether it
// was one.
func editKey(e *editor, k tea.KeyPressMsg, columns int) bool {
	if action := keymap.Find(keymap.Edit, k.Keystroke()); action != "" {
		return e.act(action, columns)
	}
	if k.Text == "" {
		return false
	}
	e.insert(k.Text)
	return true
}

// act performs an action of the text, and reports whether it was one.
func (e *editor) act(action keymap.Action, columns int) bool {
	switch action {
	case keymap.Left:
		e.left()
	case keymap.Right:
		e.right()
	case keymap.RowUp:
		e.vertical(-1, columns)
	case keymap.RowDown:
		e.vertical(1, columns)
	case keymap.WordLeft:
		e.move(e.wordLeft())
	case keymap.WordRight:
		e.move(e.wordRight())
	case keymap.LineStart:
		e.home()
	case keymap.LineEnd:
		e.last()
	case keymap.TextStart:
		e.move(0)
	case keymap.TextEnd:
		e.move(len(e.text))
	case keymap.DeleteLeft:
		e.delete(e.previous(e.cursor))
	case keymap.DeleteRight:
		e.delete(e.next(e.cursor))
	case keymap.DeleteWordLeft:
		e.kill(e.wordLeft())
	case keymap.DeleteWordRight:
		e.kill(e.wordRight())
	case keymap.DeleteToStart:
		e.kill(e.lineStart(e.cursor))
	case keymap.DeleteToEnd:
		if end := e.lineEnd(e.cursor); end > e.cursor {
			e.kill(end)
		} else {
			e.kill(e.next(e.cursor))
		}
	case keymap.Yank:
		e.yank()
	case keymap.YankOlder:
		e.yankOlder()
	case keymap.Transpose:
		e.transpose()
	case keymap.Undo:
		e.undo()
	case keymap.Redo:
		e.redo()
	case keymap.NewLine:
		e.insert("\n")
	default:
		return false
	}
	return true
}
