package tui

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/cli/tui/pager"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// answerState is the answer that the model is sending.
type answerState struct {
	text    *blocks.Answer
	thought *blocks.Thought
	blocks  []blocks.Block // of this answer; removed by a retry
}

// close ends the answer: the next text starts another.
func (a *answerState) close() { *a = answerState{} }

// event shows an event of the session.
func (m *screen) event(e interactive.Event) tea.Cmd {
	switch e.Kind {
	case interactive.EventPrompt:
		if strings.TrimSpace(e.Text) != strings.TrimSpace(m.turn.text) {
			m.transcript.Add(&blocks.Prompt{Text: e.Text})
		}
	case interactive.EventAgent:
		if e.Agent != nil {
			m.agentEvent(*e.Agent)
		}
	case interactive.EventMessage:
		m.answer.close()
		m.transcript.Add(&blocks.Message{Level: e.Level, Text: e.Text})
	case interactive.EventWorking:
		m.turn.working = e.Text
	case interactive.EventShell:
		m.transcript.Add(&blocks.Shell{Text: e.Text})
	case interactive.EventClear:
		m.cleared()
	case interactive.EventHistory:
		m.cleared()
		m.restore(e.History)
	case interactive.EventDialog:
		m.pager = pager.New(e.Title, e.Text)
	case interactive.EventPick:
		if e.Pick != nil {
			m.openList(*e.Pick)
		}
	case interactive.EventTheme:
		m.useTheme(e.Text)
	case interactive.EventTerminal:
		return tea.Exec(external{e.Terminal}, func(error) tea.Msg { return terminalEndedMsg{} })
	case interactive.EventInput:
		if m.input.Text() == "" {
			m.input.Set(e.Text)
			m.completion.dismiss()
		}
	case interactive.EventCopy:
		m.note(interactive.LevelInfo, "Sent to the clipboard of the terminal. Some terminals must permit this first.")
		return tea.SetClipboard(e.Text)
	case interactive.EventQuit:
		m.lastWords, m.quitting = e.Text, true
	case interactive.EventReopen:
		m.reopens, m.quitting = true, true
	}
	return nil
}

// cleared empties the screen.
func (m *screen) cleared() {
	m.transcript.Clear()
	m.calls = map[string]*blocks.Call{}
	m.answer.close()
	m.status = m.o.Session.Status()
}

// restore shows an earlier conversation.
func (m *screen) restore(items []interactive.Item) {
	for _, item := range items {
		switch item.Role {
		case "user":
			m.transcript.Add(&blocks.Prompt{Text: item.Text})
		case "tool":
			m.transcript.Add(&blocks.Call{State: bus.ToolCallState{
				Name: item.Name, Description: item.Text, Status: bus.CallStatus(item.Status), Display: item.Display,
			}})
		case "notice":
			m.note(interactive.LevelInfo, item.Text)
		default:
			b := &blocks.Answer{}
			b.Add(item.Text)
			m.transcript.Add(b)
		}
	}
}

// agentEvent shows an event of the agent.
func (m *screen) agentEvent(e agent.Event) {
	switch e.Type {
	case agent.EventText:
		m.text(e.Text)
	case agent.EventThought:
		if e.Thought != nil {
			m.thought(*e.Thought)
		}
	case agent.EventToolCall:
		if e.Call != nil {
			m.answer.text, m.answer.thought = nil, nil
			m.call(bus.ToolCallState{CallID: e.Call.ID, Name: e.Call.Name, Args: e.Call.Args, Status: bus.StatusValidating})
		}
	case agent.EventToolResponse:
		m.response(e)
	case agent.EventFinished:
		m.finished(e)
	case agent.EventRetry:
		m.retry(e.Retry)
	case agent.EventCitation:
		m.note(interactive.LevelInfo, "Sources:\n"+e.Text)
	case agent.EventCompaction:
		m.compacted(e.Compaction)
	case agent.EventWarning:
		m.note(interactive.LevelWarning, sentence(e.Text, e.Err))
	case agent.EventError, agent.EventInvalidStream:
		m.note(interactive.LevelError, sentence(e.Text, e.Err))
	case agent.EventCancelled:
		m.note(interactive.LevelWarning, "Called off.")
	case agent.EventLoop:
		m.note(interactive.LevelWarning, "The turn was stopped because the model repeats itself. Enter another instruction to continue.")
	case agent.EventLimit:
		m.note(interactive.LevelWarning, sentence(e.Text, e.Err))
	case agent.EventOverflow:
		text := fmt.Sprintf("The conversation exceeds the context: about %s tokens of at most %s.", display.Thousands(e.Tokens), display.Thousands(e.Limit))
		m.note(interactive.LevelWarning, strings.TrimSpace(text+" "+sentence("", e.Err)))
	case agent.EventStopped:
		m.note(interactive.LevelWarning, "Stopped: "+cmp.Or(e.Text, "no reason was given."))
	case agent.EventBlocked:
		m.note(interactive.LevelWarning, "The prompt was blocked: "+cmp.Or(e.Text, "no reason was given."))
	case agent.EventModel, agent.EventDone:
	}
}

// sentence formats an error with its remedy.
func sentence(text string, err *fault.Error) string {
	if err == nil {
		return text
	}
	parts := []string{text}
	if !strings.Contains(text, err.Message) {
		parts = append(parts, err.Message)
	}
	if err.Remedy != "" && !strings.Contains(text, err.Remedy) {
		parts = append(parts, err.Remedy)
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

func (m *screen) text(piece string) {
	if m.answer.text == nil {
		m.answer.text = &blocks.Answer{}
		m.answer.blocks = append(m.answer.blocks, m.answer.text)
		m.transcript.Add(m.answer.text)
	}
	m.answer.thought = nil
	m.answer.text.Add(piece)
}

func (m *screen) thought(t agent.Thought) {
	if m.answer.thought == nil {
		m.answer.thought = &blocks.Thought{}
		m.answer.blocks = append(m.answer.blocks, m.answer.thought)
		m.transcript.Add(m.answer.thought)
	}
	m.answer.text = nil
	m.answer.thought.Add(t.Subject, t.Description)
}

// finished ends an answer of the model.
func (m *screen) finished(e agent.Event) {
	m.answer.close()
	m.status = m.o.Session.Status()
	if e.Finish != "" && e.Finish != model.FinishStop {
		m.note(interactive.LevelWarning, "The model stopped early: "+string(e.Finish)+".")
	}
}

// retry removes the text of the failed attempt.
func (m *screen) retry(r *agent.RetryInfo) {
	text := "No answer arrived"
	for _, b := range m.answer.blocks {
		if _, is := b.(*blocks.Answer); is {
			text = "The answer was cut off"
		}
		m.transcript.Remove(b)
	}
	m.answer.close()
	if r == nil {
		return
	}
	if r.Reason != nil { // its remedy applies only to a failure that is not retried
		text += ": " + strings.TrimRight(r.Reason.Message, ".")
	}
	again := "Retrying"
	if r.Wait >= time.Second && m.o.NoAnimation {
		again += " in " + blocks.Duration(r.Wait)
	}
	m.note(interactive.LevelWarning, fmt.Sprintf("%s. %s (attempt %d).", text, again, r.Attempt+1))
	if m.turn != nil && r.Wait >= time.Second {
		m.turn.again = m.h.now().Add(r.Wait)
	}
}

func (m *screen) compacted(c *agent.Compaction) {
	if c == nil {
		return
	}
	m.status = m.o.Session.Status()
	if c.Status.Changed() {
		m.note(interactive.LevelInfo, fmt.Sprintf("The conversation was compacted from about %s tokens to %s.", display.Thousands(c.Before), display.Thousands(c.After)))
		return
	}
	m.note(interactive.LevelWarning, "The conversation could not be compacted and is unchanged.")
}
