package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/core/policy"
)

// key handles a key: first the current dialog, then the pager or list in place of the
// input, then the candidates, then the input.
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
	if m.picker != nil {
		m.pickKey(k)
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

// interrupt handles Ctrl-C: it cancels the turn, otherwise clears the input,
// otherwise quits when pressed twice.
func (m *screen) interrupt(armed bool) {
	switch {
	case m.cancelTurn():
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

// leave handles Ctrl-D: it quits; during a turn it must be pressed twice.
func (m *screen) leave(armed bool) {
	if m.turn == nil || m.turn.text == "" || armed {
		m.quitting = true
		return
	}
	m.armQuit("ctrl+d again cancels the turn and quits")
}

// armQuit makes the next key of the same kind quit, for a limited time.
func (m *screen) armQuit(notice string) {
	m.quitArmed, m.notice = true, notice
	m.quitAsked++
	m.h.after(quitFor, quitAskedMsg{m.quitAsked})
}

// inputKey handles a key that no other part used.
func (m *screen) inputKey(k tea.KeyPressMsg, stroke string) {
	rows := m.layout().transcript
	switch stroke {
	case "esc":
		m.cancelTurn()
	case "shift+tab":
		m.cycleMode()
	case "ctrl+r":
		m.search = newSearch(&m.history)
	case "pgup":
		m.transcript.Scroll(-max(rows-2, 1), rows, m.style())
	case "pgdown":
		m.transcript.Scroll(max(rows-2, 1), rows, m.style())
	case "shift+up":
		m.transcript.Scroll(-1, rows, m.style())
	case "shift+down":
		m.transcript.Scroll(1, rows, m.style())
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

// typedRun returns the text of the leading text keys of a batch, and their number. A
// terminal without bracketed paste sends thousands of them at once.
func (m *screen) typedRun(batch batchMsg) (text string, n int) {
	if m.question() != nil || m.pager != nil || m.picker != nil || m.search != nil {
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

// typeText inserts typed text into the input.
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
		m.note(interactive.LevelWarning, "The approval mode is unchanged: "+err.Error())
		return
	}
	m.status.Mode = mode
	m.notice = "approval mode: " + policy.ApprovalMode(mode).Flag()
}

// enter submits the input, unless it ends with a backslash, which continues the line.
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
	m.typedAt = m.typedAt.Add(-quietFor) // submitted text counts as no longer being typed
	m.submit(text)
}

// upDown moves the cursor by a row; from the first row it moves to the history, and
// from an empty input to the queued inputs first.
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

// editKey handles a key that edits a text or moves the cursor, and reports whether it
// was one.
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
