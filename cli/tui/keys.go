package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/keymap"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/cli/tui/pager"
	"github.com/fettle-dev/fettle/core/policy"
)

// key handles a key: first the current dialog, then the pager or list in place of the
// input, then the candidates, then the input.
func (m *screen) key(k tea.KeyPressMsg) tea.Cmd {
	stroke := k.Keystroke()
	switch keymap.Find(keymap.Everywhere, stroke) {
	case keymap.Redraw:
		return tea.ClearScreen
	case keymap.Suspend:
		return tea.Suspend
	case keymap.Details:
		m.detail = !m.detail
		return nil
	}
	if q := m.question(); q != nil {
		return m.answerKey(q, k)
	}
	if m.pager != nil {
		m.pageKey(k)
		return nil
	}
	if m.picker != nil {
		m.listKey(k)
		return nil
	}
	m.notice = ""
	armed, rewinds := m.quitArmed, m.rewindArmed
	m.quitArmed, m.rewindArmed = false, false
	if stroke = m.pair(stroke); stroke == "" {
		return nil
	}
	switch action := keymap.Find(keymap.Input, stroke); {
	case m.search != nil:
		m.searchKey(k, stroke)
	case action == keymap.Interrupt:
		m.interrupt(armed)
	case action == keymap.Leave && m.input.Text() == "":
		m.leave(armed)
	case m.completion.open() && m.completionKey(stroke):
	case action == keymap.CancelWork && m.turn == nil && m.input.Text() == "":
		m.rewind(rewinds)
	default:
		return m.inputKey(k, stroke)
	}
	return nil
}

// pair joins a stroke with the first one of a pair. It returns "" if a second one has
// to follow.
func (m *screen) pair(stroke string) string {
	if first := m.firstKey; first != "" {
		m.firstKey = ""
		return first + " " + stroke
	}
	if m.search == nil && keymap.Begins(stroke, keymap.Input) {
		m.firstKey, m.notice = stroke, keymap.Name(stroke)+" …"
		return ""
	}
	return stroke
}

// interrupt handles Ctrl-C: it cancels the turn, otherwise clears the input,
// otherwise quits when pressed twice.
func (m *screen) interrupt(armed bool) {
	switch {
	case m.cancelTurn():
	case armed:
		m.quitting = true
	case m.turn == nil && m.input.Text() != "":
		m.input.Set("") // undo restores it
		m.history.add("")
		m.edited()
	default:
		m.armQuit(keymap.Short(keymap.Input, keymap.Interrupt) + " again to quit")
	}
}

// leave handles Ctrl-D: it quits; during a turn it must be pressed twice.
func (m *screen) leave(armed bool) {
	if m.turn == nil || m.turn.text == "" || armed {
		m.quitting = true
		return
	}
	m.armQuit(keymap.Short(keymap.Input, keymap.Leave) + " again cancels the turn and quits")
}

// rewind handles Esc at an empty input: pressed twice, it lists the earlier prompts.
func (m *screen) rewind(armed bool) {
	if armed {
		m.submit("/rewind")
		return
	}
	m.rewindArmed, m.notice = true, keymap.Short(keymap.Input, keymap.CancelWork)+" again goes back to an earlier prompt"
	m.quitAsked++
	m.h.after(quitFor, quitAskedMsg{m.quitAsked})
}

// armQuit makes the next key of the same kind quit, for a limited time.
func (m *screen) armQuit(notice string) {
	m.quitArmed, m.notice = true, notice
	m.quitAsked++
	m.h.after(quitFor, quitAskedMsg{m.quitAsked})
}

// inputKey handles a key that no other part used.
func (m *screen) inputKey(k tea.KeyPressMsg, stroke string) tea.Cmd {
	if cmd, done := m.inputAction(keymap.Find(keymap.Input, stroke)); done {
		return cmd
	}
	if m.scrollAction(keymap.Find(keymap.Everywhere, stroke)) || strings.Contains(stroke, " ") {
		return nil
	}
	if before := m.input.Text(); m.input.Key(k, m.inputColumns()) {
		m.typedAt = m.h.now()
		if m.input.Text() != before {
			m.edited()
		} else {
			m.completion.dismiss()
		}
	}
	return nil
}

// inputAction performs an action of the input, and reports whether it was one that
// applies.
func (m *screen) inputAction(action keymap.Action) (cmd tea.Cmd, done bool) {
	switch action {
	case keymap.CancelWork:
		m.cancelTurn()
	case keymap.NextMode:
		m.cycleMode()
	case keymap.SearchInputs:
		m.search = newSearch(&m.history)
	case keymap.Complete:
		m.complete(true)
	case keymap.Send:
		m.enter()
	case keymap.Older:
		m.upDown(-1)
	case keymap.Newer:
		m.upDown(1)
	case keymap.OpenOutput:
		m.openOutput()
	case keymap.OpenEditor:
		return m.editInput(), true
	case keymap.PasteImage:
		m.pasteImage()
	case keymap.Help:
		if m.input.Text() != "" {
			return nil, false
		}
		m.pager = pager.New("Keys", keymap.Markdown()+"\n`/help` lists the commands.")
	default:
		return nil, false
	}
	return nil, true
}

// scrollAction scrolls the conversation, and reports whether the action does that.
func (m *screen) scrollAction(action keymap.Action) bool {
	rows := m.layout().transcript
	switch action {
	case keymap.PageUp:
		m.transcript.Scroll(-max(rows-2, 1), rows, m.style())
	case keymap.PageDown:
		m.transcript.Scroll(max(rows-2, 1), rows, m.style())
	case keymap.ScrollUp:
		m.transcript.Scroll(-1, rows, m.style())
	case keymap.ScrollDown:
		m.transcript.Scroll(1, rows, m.style())
	case keymap.ToStart:
		m.transcript.Top, m.transcript.Scrolled = blocks.Place{}, true
	case keymap.ToEnd:
		m.transcript.Scrolled = false
	default:
		return false
	}
	return true
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
	m.input.Insert(text)
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
	if e.Cursor() > 0 && e.Text()[e.Cursor()-1] == '\\' {
		e.Replace(e.Cursor()-1, e.Cursor(), "\n")
		m.edited()
		return
	}
	text := e.Value()
	if strings.TrimSpace(text) == "" {
		return
	}
	m.history.add(text)
	e.Reset()
	m.edited()
	m.completion.dismiss()
	m.typedAt = m.typedAt.Add(-quietFor) // submitted text counts as no longer being typed
	m.submit(text)
}

// upDown moves the cursor by a row; from the first row it moves to the history, and
// from an empty input to the queued inputs first.
func (m *screen) upDown(n int) {
	m.typedAt = m.h.now() // Up and Enter must not reach a dialog that opens meanwhile
	e := &m.input
	if n < 0 && e.Text() == "" && len(m.queued) > 0 {
		last := len(m.queued) - 1
		e.Recall(m.queued[last])
		m.queued = m.queued[:last:last]
		m.history.forget(e.Value())
		return
	}
	if e.Vertical(n, m.inputColumns()) {
		return
	}
	if text, there := m.history.step(n, e.Text()); there {
		e.Recall(text)
		m.completion.dismiss()
	}
}
