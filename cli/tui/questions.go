package tui

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/core/bus"
)

// asked is a question to the person. Questions come one at a time; one takes keys only
// once it has been on the screen, and the person has paused who was typing when it
// came, so that nothing typed for something else answers it.
type asked struct {
	id     string
	ctx    context.Context
	dialog dialog
	shown  bool // it is on the screen
	armed  bool // it takes keys
	// typedAt is when a key was last pressed that means something is being typed.
	typedAt time.Time
	// held is a key that answers, while it waits for whether another one follows.
	held *tea.KeyPressMsg
	keys int // that were held; tells the timers of one from those of another
}

// heldMsg says that no key has followed the one that a question holds.
type heldMsg struct {
	id  string
	key int
}

// meaning is what a printable key is to a question.
type meaning int

const (
	taken   meaning = iota // it is text, moves or chooses: harmless
	answers                // it answers, or has an editor opened
	stray                  // nothing: the person types something for elsewhere
)

// dialog is a question as it is shown.
type dialog interface {
	// means says what a printable key would do now.
	means(k tea.KeyPressMsg) meaning
	// view returns at most so many lines, and the cursor, if it has one, relative to
	// the first.
	view(v blocks.Look, rows int, armed bool) (lines []string, cursor *tea.Cursor)
	// key takes a key. answer is set once the person has answered.
	key(k tea.KeyPressMsg) (answer bus.Answer, cmd tea.Cmd)
	// paste takes what was pasted, and reports whether it had use for it.
	paste(text string) bool
	scroll(n int)
	// failed tells why the person's doing had no effect.
	failed(why string)
}

// armMsg says that the first question may go on: to be shown, or to take keys.
type armMsg struct{ id string }

// editedMsg is what came of the editor of a question.
type editedMsg struct {
	id      string
	content string
	err     error
}

// question is the one that is shown, nil for none.
func (m *screen) question() *asked {
	if len(m.questions) > 0 && m.questions[0].shown {
		return m.questions[0]
	}
	return nil
}

// ask queues a question.
func (m *screen) ask(msg askedMsg) {
	if msg.ctx.Err() != nil {
		return
	}
	q := &asked{ctx: msg.ctx}
	switch one := msg.message.(type) {
	case bus.ToolConfirmationRequest:
		q.id, q.dialog = one.CorrelationID, newConfirmation(one, m.editorFor(msg.ctx, one))
	case bus.AskUserRequest:
		q.id, q.dialog = one.CorrelationID, newForm(one)
	default:
		return
	}
	m.questions = append(m.questions, q)
	if len(m.questions) == 1 {
		m.showNext()
	}
}

// showNext shows the first question, at once or when the person pauses.
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
	pause := armAfter
	if !m.answeredAt.IsZero() && m.h.now().Sub(m.answeredAt) < armNextAfter {
		pause = armNextAfter
	}
	m.h.after(pause, armMsg{q.id})
}

// arm takes the first question a step further.
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

// answerKey gives a key to the question that is shown. Keys that follow each other as
// when words are typed answer nothing: a key that answers is held until it is sure
// that none follows, and one that has no meaning takes the keyboard from the question
// until the person pauses.
func (m *screen) answerKey(q *asked, k tea.KeyPressMsg) tea.Cmd {
	if k.Text == "" {
		if !q.armed {
			return nil
		}
		return m.giveKey(q, k)
	}
	switch means := q.dialog.means(k); {
	case !q.armed || q.held != nil || means == stray:
		waiting := !q.armed && !q.typedAt.IsZero()
		q.typedAt, q.armed, q.held = m.h.now(), false, nil
		if !waiting { // else its timer goes on by itself
			m.h.after(quietFor, armMsg{q.id})
		}
	case means == answers:
		q.keys++
		q.held = &k
		m.h.after(heldFor, heldMsg{q.id, q.keys})
	default:
		return m.giveKey(q, k)
	}
	return nil
}

// unhold takes a key that was held, as no other has followed.
func (m *screen) unhold(msg heldMsg) tea.Cmd {
	q := m.question()
	if q == nil || q.id != msg.id || q.held == nil || q.keys != msg.key {
		return nil
	}
	k := *q.held
	q.held = nil
	return m.giveKey(q, k)
}

// giveKey has the question that is shown take a key.
func (m *screen) giveKey(q *asked, k tea.KeyPressMsg) tea.Cmd {
	answer, cmd := q.dialog.key(k)
	if answer == nil {
		return cmd
	}
	m.answeredAt = m.h.now()
	m.dropQuestion(q.id)
	switch err := m.o.Session.Bus().Publish(answer); {
	case err == nil:
	case errors.Is(err, bus.ErrAnswered):
		m.note(interactive.LevelWarning, "This was answered elsewhere before; your answer does not count.")
	case errors.Is(err, bus.ErrWithdrawn), errors.Is(err, bus.ErrUnknownQuestion):
		m.note(interactive.LevelWarning, "The call has ended meanwhile; your answer does not count.")
	default:
		m.note(interactive.LevelError, "Your answer did not arrive: "+err.Error())
	}
	return cmd
}

// questionEnded takes away a question that has ended without this person's answer.
func (m *screen) questionEnded(msg endedMsg) {
	if !m.dropQuestion(msg.id) {
		return
	}
	if errors.Is(msg.cause, bus.ErrAnswered) {
		m.note(interactive.LevelInfo, "The question was answered elsewhere.")
		return
	}
	m.note(interactive.LevelInfo, "The call that asked has ended; its question is gone.")
}

// dropQuestion takes a question away, and shows the next one. It reports whether it
// was there.
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

// editorEnded takes what came of an editor.
func (m *screen) editorEnded(msg editedMsg) tea.Cmd {
	q := m.question()
	if q == nil || q.id != msg.id {
		return nil
	}
	if msg.err != nil {
		q.dialog.failed(msg.err.Error())
		return nil
	}
	m.answeredAt = m.h.now()
	m.dropQuestion(q.id)
	content := msg.content
	err := m.o.Session.Bus().Publish(bus.ToolConfirmationResponse{
		CorrelationID: msg.id, Confirmed: true, Outcome: bus.ModifyWithEditor, Payload: bus.Payload{NewContent: &content},
	})
	if err != nil {
		m.note(interactive.LevelWarning, "The call has ended meanwhile; your change does not count.")
	}
	return nil
}
