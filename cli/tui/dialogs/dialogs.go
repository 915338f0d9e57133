// Package dialogs has the dialogs that ask the user in a terminal: the approval of a tool
// call and the questions of a form. A dialog draws itself, handles keys and returns the
// answer. It does not know when it is shown, whether other requests wait, or where its
// answer goes.
package dialogs

import (
	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/cli/tui/frame"
	"github.com/fettle-dev/fettle/core/bus"
)

// Dialog is a request as it is displayed. It is not safe for concurrent use.
type Dialog interface {
	// Means classifies a printable key in the current state.
	Means(k tea.KeyPressMsg) Meaning
	// View returns at most rows lines, and the cursor, if any, relative to the first
	// line. armed reports that keys count.
	View(v blocks.Style, rows int, armed bool) (lines []string, cursor *tea.Cursor)
	// Key handles a key. answer is set once the user has answered.
	Key(k tea.KeyPressMsg) (answer bus.Answer, cmd tea.Cmd)
	// Paste handles pasted text, and reports whether it was used.
	Paste(text string) bool
	// Scroll moves the window on the content by n rows, down if n > 0.
	Scroll(n int)
	// Failed shows why the user's action had no effect.
	Failed(why string)
}

// notArmed is the hint while keys do not count.
func notArmed() frame.Hint { return frame.Hint{Effect: "keys count after a pause"} }

// Meaning classifies a printable key for a dialog.
type Meaning int

const (
	Harmless Meaning = iota // text, movement or selection
	Answers                 // answers, or opens an editor
	Stray                   // unused: the user types text meant for the input
)
