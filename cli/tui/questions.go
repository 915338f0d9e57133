package tui

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/keymap"
	"github.com/fettle-dev/fettle/cli/tui/dialogs"
	"github.com/fettle-dev/fettle/core/bus"
)

// asked is a request to the user. Requests are shown one at a time. A dialog accepts
// keys only once it has been on the screen and a user who was typing has paused, so
// that text typed for something else cannot answer it.
type asked struct {
	id     string
	ctx    context.Context
	dialog dialogs.Dialog
	shown  bool // it is on the screen
	armed  bool // it accepts keys
	// typedAt is the time of the last key that is part of typing.
	typedAt time.Time
	// held is an answering key that waits to see whether another key follows.
	held *tea.KeyPressMsg
	keys int // number of held keys; identifies their timers
}

// heldMsg reports that no key has followed a held key.
type heldMsg struct {
	id  string
	key int
}

// armMsg reports that the first request may advance: be shown, or accept keys.
type armMsg struct{ id string }

// editedMsg is the result of an editor.
type editedMsg struct {
	id      string
	content string
	err     error
}

// question returns the displayed request, nil for none.
func (m *screen) question() *asked {
	if len(m.questions) > 0 && m.questions[0].shown {
		return m.questions[0]
	}
	return nil
}

// ask queues a request.
func (m *screen) ask(msg askedMsg) {
	if msg.ctx.Err() != nil {
		return
	}
	q := &asked{ctx: msg.ctx}
	switch one := msg.message.(type) {
	case bus.ToolConfirmationRequest:
		q.id, q.dialog = one.CorrelationID, dialogs.NewConfirmation(one, m.o.SavedIn, inEditor(m.editorFor(msg.ctx, one)))
	case bus.AskUserRequest:
		q.id, q.dialog = one.CorrelationID, dialogs.NewForm(one)
	default:
		return
	}
	m.questions = append(m.questions, q)
	if len(m.questions) == 1 {
		m.showNext()
	}
}

// showNext shows the first request, now or when the user pauses.
func (m *screen) showNext() {
	if len(m.questions) == 0 {
		return
	}
	q := m.questions[0]
	if pause := quietFor - m.h.now().Sub(m.typedAt); !m.typedAt.IsZero() && pause > 0 {
		m.h.after(pause, armMsg{q.id})
		return
	}
	q.shown = true
	m.notify("waits for your answer")
	pause := armAfter
	if !m.answeredAt.IsZero() && m.h.now().Sub(m.answeredAt) < armNextAfter {
		pause = armNextAfter
	}
	m.h.after(pause, armMsg{q.id})
}

// arm advances the first request by one step.
func (m *screen) arm(msg armMsg) {
	if len(m.questions) == 0 || m.questions[0].id != msg.id {
		return
	}
	q := m.questions[0]
	if !q.shown {
		m.showNext()
		return
	}
	if pause := quietFor - m.h.now().Sub(q.typedAt); !q.typedAt.IsZero() && pause > 0 {
		m.h.after(pause, armMsg{q.id})
		return
	}
	q.armed = true
}

// answerKey passes a key to the displayed dialog. Keys in quick succession, as in
// typed words, answer nothing: an answering key is held until it is certain that none
// follows, and an unused key takes the keyboard from the dialog until the user
// pauses.
func (m *screen) answerKey(q *asked, k tea.KeyPressMsg) tea.Cmd {
	if k.Text == "" {
		if !q.armed || q.held != nil && isEnter(k) { // Enter after an answering key ends the same answer
			return nil
		}
		q.held = nil
		return m.giveKey(q, k)
	}
	switch means := q.dialog.Means(k); {
	case !q.armed || q.held != nil || means == dialogs.Stray:
		waiting := !q.armed && !q.typedAt.IsZero()
		q.typedAt, q.armed, q.held = m.h.now(), false, nil
		if !waiting { // otherwise its timer continues
			m.h.after(quietFor, armMsg{q.id})
		}
	case means == dialogs.Answers:
		q.keys++
		q.held = &k
		m.h.after(heldFor, heldMsg{q.id, q.keys})
	default:
		return m.giveKey(q, k)
	}
	return nil
}

func isEnter(k tea.KeyPressMsg) bool {
	return keymap.Find(keymap.Approval, k.Keystroke()) == keymap.Accept
}

// release handles a held key because no other key has followed.
func (m *screen) release(msg heldMsg) tea.Cmd {
	q := m.question()
	if q == nil || q.id != msg.id || q.held == nil || q.keys != msg.key {
		return nil
	}
	k := *q.held
	q.held = nil
	return m.giveKey(q, k)
}

// giveKey passes a key to the displayed dialog.
func (m *screen) giveKey(q *asked, k tea.KeyPressMsg) tea.Cmd {
	answer, cmd := q.dialog.Key(k)
	if answer == nil {
		return cmd
	}
	m.answeredAt = m.h.now()
	m.dropQuestion(q.id)
	switch err := m.o.Session.Bus().Publish(answer); {
	case err == nil:
	case errors.Is(err, bus.ErrAnswered):
		m.note(interactive.LevelWarning, "Another approver has already answered; your answer has no effect.")
	case errors.Is(err, bus.ErrWithdrawn), errors.Is(err, bus.ErrUnknownQuestion):
		m.note(interactive.LevelWarning, "The call has ended; your answer has no effect.")
	default:
		m.note(interactive.LevelError, "Your answer was not delivered: "+err.Error())
	}
	return cmd
}

// questionEnded closes a request that ended without an answer of this user.
func (m *screen) questionEnded(msg endedMsg) {
	if !m.dropQuestion(msg.id) {
		return
	}
	if errors.Is(msg.cause, bus.ErrAnswered) {
		m.note(interactive.LevelInfo, "Another approver has answered.")
		return
	}
	m.note(interactive.LevelInfo, "The call has ended; its request is closed.")
}

// dropQuestion removes a request and shows the next one. It reports whether the
// request existed.
func (m *screen) dropQuestion(id string) bool {
	for i, q := range m.questions {
		if q.id != id {
			continue
		}
		m.questions = append(m.questions[:i:i], m.questions[i+1:]...)
		if i == 0 {
			m.showNext()
		}
		return true
	}
	return false
}

// editorEnded handles the result of an editor.
func (m *screen) editorEnded(msg editedMsg) tea.Cmd {
	q := m.question()
	if q == nil || q.id != msg.id {
		return nil
	}
	if msg.err != nil {
		q.dialog.Failed(msg.err.Error())
		return nil
	}
	m.answeredAt = m.h.now()
	m.dropQuestion(q.id)
	content := msg.content
	err := m.o.Session.Bus().Publish(bus.ToolConfirmationResponse{
		CorrelationID: msg.id, Confirmed: true, Outcome: bus.ModifyWithEditor, Payload: bus.Payload{NewContent: &content},
	})
	if err != nil {
		m.note(interactive.LevelWarning, "The call has ended; your change has no effect.")
	}
	return nil
}
