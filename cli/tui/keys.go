package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
)

// key takes a key: the question that is shown first, then what lies above the input,
// then the input.
func (m *screen) key(k tea.KeyPressMsg) tea.Cmd {
	stroke := k.Keystroke()
	switch stroke {
	case "ctrl+l":
		return tea.ClearScreen
	case "ctrl+z":
		return tea.Suspend
	case "ctrl+o":
		m.detail = !m.detail
		return nil
	}
	if q := m.question(); q != nil {
		return m.answerKey(q, k)
	}
	if m.pager != nil {
		if m.pager.key(k) {
			m.pager = nil
		}
		return nil
	}
	m.notice = ""
	armed := m.quitArmed
	m.quitArmed = false
	switch {
	case m.search != nil:
		m.searchKey(k, stroke)
	case stroke == "ctrl+c":
		m.interrupt(armed)
	case stroke == "ctrl+d" && m.input.text == "":
		m.leave(armed)
	case m.completion.open() && m.completionKey(stroke):
	default:
		m.inputKey(k, stroke)
	}
	return nil
}

// interrupt is Ctrl-C: it ends the turn, else clears what is typed, else quits when
// pressed twice.
func (m *screen) interrupt(armed bool) {
	switch {
	case m.callOff():
	case armed:
		m.quitting = true
	case m.turn == nil && m.input.text != "":
		m.input.reset()
		m.history.add("")
		m.edited()
	default:
		m.armQuit("ctrl+c again to quit")
	}
}

// leave is Ctrl-D: it quits, when pressed twice if something is worked on.
func (m *screen) leave(armed bool) {
	if m.turn == nil || m.turn.text == "" || armed {
		m.quitting = true
		return
	}
	m.armQuit("ctrl+d again ends what runs and quits")
}

// armQuit has the next key of its kind quit, for a while.
func (m *screen) armQuit(notice string) {
	m.quitArmed, m.notice = true, notice
	m.quitAsked++
	m.h.after(quitFor, quitAskedMsg{m.quitAsked})
}

// inputKey takes a key that has no other meaning.
func (m *screen) inputKey(k tea.KeyPressMsg, stroke string) {
	rows := m.layout().transcript
	switch stroke {
	case "esc":
		m.callOff()
	case "shift+tab":
		m.cycleMode()
	case "ctrl+r":
		m.search = newSearch(&m.history)
	case "pgup":
		m.transcript.Scroll(-max(rows-2, 1), rows, m.look())
	case "pgdown":
		m.transcript.Scroll(max(rows-2, 1), rows, m.look())
	case "shift+up":
		m.transcript.Scroll(-1, rows, m.look())
	case "shift+down":
		m.transcript.Scroll(1, rows, m.look())
	case "ctrl+home":
		m.transcript.Top, m.transcript.Scrolled = blocks.Place{}, true
	case "ctrl+end":
		m.transcript.Scrolled = false
	case "tab":
		m.complete(true)
	case "enter", "kpenter":
		m.enter()
	case "up", "ctrl+p":
		m.upDown(-1)
	case "down", "ctrl+n":
		m.upDown(1)
	default:
		if before := m.input.text; editKey(&m.input, k, m.inputColumns()) {
			m.typedAt = m.h.now()
			if m.input.text != before {
				m.edited()
			} else {
				m.completion.dismiss()
			}
		}
	}
}

// typedRun is the text of the keys that a batch begins with, as far as they are text
// for the input, and how many they are. A terminal that does not tell a paste from
// typing brings thousands of them at once.
func (m *screen) typedRun(batch batchMsg) (text string, n int) {
	if m.question() != nil || m.pager != nil || m.search != nil {
		return "", 0
	}
	var b strings.Builder
	for _, one := range batch {
		k, is := one.(tea.KeyPressMsg)
		if !is || k.Text == "" || k.Mod&^(tea.ModShift|tea.ModCapsLock|tea.ModNumLock) != 0 {
			break
		}
		b.WriteString(k.Text)
		n++
	}
	return b.String(), n
}

// typeText puts what was typed into the input.
func (m *screen) typeText(text string) {
	m.notice, m.quitArmed = "", false
	m.input.insert(text)
	m.typedAt = m.h.now()
	m.edited()
}

func (m *screen) cycleMode() {
	mode, err := m.o.Session.CycleMode()
	m.status = m.o.Session.Status()
	if err != nil {
		m.note(interactive.LevelWarning, "The approval mode stays: "+err.Error())
		return
	}
	m.status.Mode = mode
	m.notice = "approval mode: " + modeWord(mode)
}

// modeWord is an approval mode as flags spell it.
func modeWord(mode string) string {
	if mode == "autoEdit" {
		return "auto_edit"
	}
	return mode
}

// enter submits the input, unless it goes on behind a backslash.
func (m *screen) enter() {
	e := &m.input
	if e.cursor > 0 && e.text[e.cursor-1] == '\\' {
		e.replace(e.cursor-1, e.cursor, "\n")
		m.edited()
		return
	}
	text := e.value()
	if strings.TrimSpace(text) == "" {
		return
	}
	m.history.add(text)
	e.reset()
	m.edited()
	m.completion.dismiss()
	m.typedAt = m.typedAt.Add(-quietFor) // what is submitted is typed no longer
	m.submit(text)
}

// upDown moves the cursor by a row, and to what was typed before from the first row;
// from an empty input to what is queued first.
func (m *screen) upDown(n int) {
	e := &m.input
	if n < 0 && e.text == "" && len(m.queued) > 0 {
		last := len(m.queued) - 1
		e.recall(m.queued[last])
		m.queued = m.queued[:last:last]
		m.history.forget(e.value())
		return
	}
	if e.vertical(n, m.inputColumns()) {
		return
	}
	if text, there := m.history.step(n, e.text); there {
		e.recall(text)
		m.completion.dismiss()
	}
}

// editKey takes a key that changes a text or moves in it, and reports whether it was
// one.
func editKey(e *editor, k tea.KeyPressMsg, columns int) bool {
	switch k.Keystroke() {
	case "left", "ctrl+b":
		e.left()
	case "right", "ctrl+f":
		e.right()
	case "up":
		e.vertical(-1, columns)
	case "down":
		e.vertical(1, columns)
	case "alt+left", "ctrl+left", "alt+b":
		e.move(e.wordLeft())
	case "alt+right", "ctrl+right", "alt+f":
		e.move(e.wordRight())
	case "home", "ctrl+a":
		e.home()
	case "end", "ctrl+e":
		e.last()
	case "alt+<":
		e.move(0)
	case "alt+>":
		e.move(len(e.text))
	case "backspace", "ctrl+h", "shift+backspace":
		e.delete(e.previous(e.cursor))
	case "delete", "ctrl+d":
		e.delete(e.next(e.cursor))
	case "alt+backspace", "ctrl+w", "ctrl+backspace":
		e.delete(e.wordLeft())
	case "alt+d", "alt+delete", "ctrl+delete":
		e.delete(e.wordRight())
	case "ctrl+u":
		e.delete(e.lineStart(e.cursor))
	case "ctrl+k":
		if end := e.lineEnd(e.cursor); end > e.cursor {
			e.delete(end)
		} else {
			e.delete(e.next(e.cursor))
		}
	case "alt+enter", "ctrl+j", "shift+enter", "ctrl+enter":
		e.insert("\n")
	default:
		if k.Text == "" {
			return false
		}
		e.insert(k.Text)
	}
	return true
}
