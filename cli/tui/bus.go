package tui

import (
	"context"
	"encoding/json"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/policy"
)

// Requests of the bus, each with the ctx that ends with it, and their ends.
type (
	askedMsg struct {
		message bus.Message
		ctx     context.Context
	}
	endedMsg struct {
		id    string
		cause error
	}
)

// subscribe posts the messages of a bus to the mailbox until unsubscribe is called.
// unsubscribe returns when no handler runs.
func subscribe(ctx context.Context, b *bus.MessageBus, box *mailbox) (unsubscribe func()) {
	subscriptions := []*bus.Subscription{
		hear[bus.ToolConfirmationRequest](ctx, b, box),
		hear[bus.AskUserRequest](ctx, b, box),
		watch(ctx, b, box),
	}
	return func() {
		for _, s := range subscriptions {
			s.Unsubscribe()
			<-s.Done()
		}
	}
}

// watch posts the other messages. If output was dropped because it came too fast, the
// call's end reports that.
func watch(ctx context.Context, b *bus.MessageBus, box *mailbox) *bus.Subscription {
	var s *bus.Subscription
	missed := int64(0)
	ready := make(chan struct{})
	s = bus.Observe(ctx, b, func(_ context.Context, m bus.Message) {
		<-ready
		switch m := m.(type) {
		case bus.ToolOutput:
			box.post(outputMsg{call: m.CallID, text: m.Chunk})
		case bus.ToolCallsUpdate:
			if now := s.Dropped(); now > missed {
				missed = now
				for _, c := range m.ToolCalls {
					box.post(outputMsg{call: c.CallID, skipped: 1})
				}
			}
			box.post(m)
		case bus.SubagentActivity, bus.UpdatePolicy, bus.ConfigChanged:
			box.post(m)
		}
	})
	close(ready)
	return s
}

// hear posts the requests of one type, and their ends.
func hear[Q interface {
	bus.Message
	Correlation() string
}](ctx context.Context, b *bus.MessageBus, box *mailbox) *bus.Subscription {
	return bus.Subscribe(ctx, b, func(ctx context.Context, q Q) {
		box.post(askedMsg{q, ctx})
		context.AfterFunc(ctx, func() { box.post(endedMsg{q.Correlation(), context.Cause(ctx)}) })
	})
}

// busMessage handles the bus messages and requests that the mailbox delivers.
func (m *screen) busMessage(msg any) tea.Cmd {
	switch msg := msg.(type) {
	case outputMsg:
		if c := m.calls[msg.call]; c != nil {
			c.Print(msg.text, msg.skipped > 0)
		}
	case bus.ToolCallsUpdate:
		for _, c := range msg.ToolCalls {
			if m.calls[c.CallID] == nil && c.Subagent == "" {
				// The model announces its calls before they run, so this is one of the prompt, as
				// of @. The answer to it may have been displayed already: the bus is not awaited.
				m.calls[c.CallID] = &blocks.Call{}
				m.transcript.AddToPrompt(m.calls[c.CallID])
			}
			m.call(c)
		}
	case bus.SubagentActivity:
		m.activity(msg)
	case bus.UpdatePolicy:
		m.note(interactive.LevelInfo, "Remembered: "+approval.Remembered(msg))
	case bus.ConfigChanged:
		m.configChanged(msg)
	case askedMsg:
		m.ask(msg)
	case endedMsg:
		m.questionEnded(msg)
	case armMsg:
		m.arm(msg)
	case heldMsg:
		return m.release(msg)
	case editedMsg:
		return m.editorEnded(msg)
	}
	return nil
}

// configChanged shows notices about changed settings; the status line shows the rest.
func (m *screen) configChanged(c bus.ConfigChanged) {
	before := m.status
	m.status = m.o.Session.Status()
	if c.Notice != "" {
		defer m.note(interactive.LevelWarning, c.Notice)
	}
	switch {
	case c.Subagent != "" || c.Key == "":
	case m.status.Mode != before.Mode:
		m.note(interactive.LevelInfo, "Approval mode: "+policy.ApprovalMode(m.status.Mode).Flag()+".")
	case m.status.Model != before.Model:
		m.note(interactive.LevelInfo, "Model: "+display.Line(m.status.Model)+".")
	case c.Origin != "":
		m.note(interactive.LevelInfo, "The setting "+c.Key+" has changed.")
	}
}

// call shows the state of a call.
func (m *screen) call(state bus.ToolCallState) {
	c := m.calls[state.CallID]
	if c == nil {
		c = &blocks.Call{}
		m.calls[state.CallID] = c
		if parent := m.parent(state.Subagent); parent != nil {
			parent.Adopt(c, state.CallID)
		} else {
			m.answer.text, m.answer.thought = nil, nil
			m.transcript.Add(c)
		}
	}
	if state.Status == bus.StatusValidating && c.State.Status != "" {
		return // a newer state is known
	}
	c.Update(state)
}

// parent returns the call that runs a subagent: the last running call of that agent,
// otherwise the last running call.
func (m *screen) parent(subagent string) *blocks.Call {
	if subagent == "" {
		return nil
	}
	var running *blocks.Call
	for i := len(m.transcript.Blocks) - 1; i >= 0; i-- {
		c, is := m.transcript.Blocks[i].Block.(*blocks.Call)
		if !is || c.State.Status != bus.StatusExecuting {
			continue
		}
		if c.State.Name == subagent || strings.Contains(string(c.State.Args), `"`+subagent+`"`) {
			return c
		}
		if running == nil {
			running = c
		}
	}
	return running
}

func (m *screen) activity(a bus.SubagentActivity) {
	if a.Activity.Type == bus.ActivityToolCall && m.calls[a.Activity.ID] != nil {
		return // shown as the call itself
	}
	if p := m.parent(a.SubagentName); p != nil {
		p.Activity(a.Activity)
	}
}

// response shows the result of a call.
func (m *screen) response(e agent.Event) {
	if e.Response == nil {
		return
	}
	r := e.Response
	state := bus.ToolCallState{CallID: r.CallID, Name: r.Tool, Status: bus.CallStatus(r.Status)}
	if c := m.calls[r.CallID]; c != nil {
		state = c.State
		state.Status = bus.CallStatus(r.Status)
	}
	state.Preview = state.Preview || r.Decision.Previews
	if err := r.Result.Error; err != nil && state.Error == nil {
		state.Error = &bus.Failure{Type: string(err.Code), Message: err.Message, Remedy: err.Remedy, Reason: string(err.Reason)}
	}
	if len(state.Display) == 0 {
		if data, err := json.Marshal(r.Result.ReturnDisplay); err == nil {
			state.Display = data
		}
	}
	m.call(state)
	m.calls[r.CallID].Notices = r.Notices
}
