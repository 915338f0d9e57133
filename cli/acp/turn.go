package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// turn is a prompt that was received, from its arrival to its response.
type turn struct {
	ctx    context.Context // ends when the turn is cancelled
	cancel context.CancelFunc
	id     string // of the request, in JSON
	prompt string // its content, in JSON: requests are handled in any order
	begun  bool
}

// keyOf returns the content of a prompt in JSON.
func keyOf(prompt []sdk.ContentBlock) string {
	data, err := json.Marshal(prompt)
	if err != nil { // it was decoded from JSON
		return err.Error()
	}
	return string(data)
}

// expect records a prompt. The error is the answer to a prompt that arrives while
// another one runs.
func (s *session) expect(id string, prompt []sdk.ContentBlock) error {
	key := keyOf(prompt)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.turns {
		if t.ctx.Err() == nil {
			return &sdk.RequestError{Code: invalidRequest, Message: "The session works on a prompt. Cancel it with session/cancel, or wait for its response."}
		}
	}
	t := &turn{id: id, prompt: key}
	t.ctx, t.cancel = context.WithCancel(s.ctx)
	s.turns = append(s.turns, t)
	return nil
}

// cancelTurns cancels all prompts that have arrived.
func (s *session) cancelTurns() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.turns {
		t.cancel()
	}
}

// cancelRequest cancels the prompt of a request.
func (s *session) cancelRequest(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.turns {
		if t.id == id {
			t.cancel()
		}
	}
}

// next returns the oldest recorded prompt with the same content that was not begun.
func (s *session) next(prompt []sdk.ContentBlock) (*turn, error) {
	key := keyOf(prompt)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.turns {
		if !t.begun && t.prompt == key {
			t.begun = true
			return t, nil
		}
	}
	return nil, errors.New("no prompt is expected")
}

// ended removes a turn.
func (s *session) ended(t *turn) {
	t.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns = slices.DeleteFunc(s.turns, func(other *turn) bool { return other == t })
}

// cancelled is the response to a cancelled prompt.
func cancelled() (sdk.PromptResponse, error) {
	return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled}, nil
}

// prompt works on a prompt.
func (s *session) prompt(blocks []sdk.ContentBlock) (sdk.PromptResponse, error) {
	t, err := s.next(blocks)
	if err != nil {
		return sdk.PromptResponse{}, err
	}
	defer s.ended(t)
	select {
	case s.lane <- struct{}{}:
		defer func() { <-s.lane }()
	case <-t.ctx.Done():
		return cancelled()
	}
	select {
	case <-s.started:
	case <-t.ctx.Done():
		return cancelled()
	}
	text, parts, err := s.content(t.ctx, blocks)
	if err != nil {
		return sdk.PromptResponse{}, err
	}
	r := &running{session: s, isCommand: strings.HasPrefix(strings.TrimSpace(text), "/"), reason: sdk.StopReasonEndTurn}
	for e := range s.host.Submit(t.ctx, text, parts...) {
		r.event(e)
	}
	s.flush(t.ctx)
	s.calls.settle()
	switch {
	case t.ctx.Err() != nil:
		return cancelled()
	case r.err != nil:
		return sdk.PromptResponse{}, r.err
	}
	return sdk.PromptResponse{StopReason: r.reason}, nil
}

// running converts the events of a turn to updates.
type running struct {
	*session
	isCommand bool
	reason    sdk.StopReason
	err       error
}

func (r *running) event(e interactive.Event) {
	switch e.Kind {
	case interactive.EventAgent:
		r.agentEvent(*e.Agent)
	case interactive.EventMessage:
		r.message(e.Level, e.Text)
	case interactive.EventShell, interactive.EventDialog, interactive.EventInput, interactive.EventCopy, interactive.EventQuit:
		if text := strings.TrimSpace(e.Title + "\n\n" + e.Text); text != "" {
			r.sendText(text + "\n")
		}
	case interactive.EventPick:
		if e.Pick != nil {
			r.sendText(pickText(*e.Pick))
		}
	case interactive.EventTerminal:
		r.sendText("This command needs a terminal; use it with fettle in one.\n")
	}
}

// message sends a message of the program: the result of a command and errors as text,
// other notices as thoughts, apart from the answer.
func (r *running) message(level interactive.Level, text string) {
	if level != interactive.LevelInfo {
		text = strings.ToUpper(string(level[:1])) + string(level[1:]) + ": " + text
	}
	if r.isCommand || level == interactive.LevelError {
		r.sendText(text + "\n\n")
		return
	}
	r.sendThought(text + "\n\n")
}

// pickText formats a list to choose from.
func pickText(p interactive.Pick) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", display.Line(p.Title))
	for _, item := range p.Items {
		fmt.Fprintf(&b, "- %s", display.Line(item.Name))
		for _, more := range []string{item.State, item.Description} {
			if more != "" {
				fmt.Fprintf(&b, ", %s", display.Line(more))
			}
		}
		b.WriteString("\n")
	}
	if len(p.Items) == 0 {
		b.WriteString(display.Line(p.Empty) + "\n")
	}
	return b.String()
}

func (r *running) agentEvent(e agent.Event) {
	switch e.Type {
	case agent.EventText:
		r.sendText(e.Text)
	case agent.EventThought:
		if e.Thought != nil {
			r.sendThought(strings.TrimSpace(boldly(e.Thought.Subject)+"\n\n"+e.Thought.Description) + "\n\n")
		}
	case agent.EventToolCall:
		r.calls.announce(e.Call.ID, e.Call.Name, e.Call.Object(), "")
	case agent.EventToolResponse:
		r.calls.result(e.Call.ID, e.Response)
	case agent.EventCitation:
		r.sendText("\n\nSources:\n" + e.Text + "\n")
	case agent.EventWarning:
		r.sendThought("Warning: " + e.Text + "\n\n")
	case agent.EventRetry:
		r.sendThought(fmt.Sprintf("The model is asked again, because its answer failed: %s The text before is obsolete.\n\n", e.Retry.Reason.Message))
	case agent.EventCompaction:
		if e.Compaction.Status.Changed() {
			r.sendThought(fmt.Sprintf("The conversation was compressed from %d to %d tokens.\n\n", e.Compaction.Before, e.Compaction.After))
		}
	case agent.EventFinished:
		r.finished(e.Finish)
	default:
		if e.Type.Ends() {
			r.end(e)
		}
	}
}

// boldly marks a subject as bold.
func boldly(subject string) string {
	if subject == "" {
		return ""
	}
	return "**" + subject + "**"
}

// finished notes why an answer of the model ended.
func (r *running) finished(why model.FinishReason) {
	r.reason = sdk.StopReasonEndTurn
	switch why {
	case model.FinishMaxTokens:
		r.reason = sdk.StopReasonMaxTokens
	case model.FinishSafety, model.FinishRecitation:
		r.reason = sdk.StopReasonRefusal
	}
}

// end notes how a prompt ended.
func (r *running) end(e agent.Event) {
	switch e.Type {
	case agent.EventDone:
	case agent.EventCancelled:
		r.reason = sdk.StopReasonCancelled
	case agent.EventLimit:
		r.reason = sdk.StopReasonMaxTurnRequests
	case agent.EventStopped:
		r.sendText("The run was stopped: " + e.Text + "\n")
		r.reason = sdk.StopReasonEndTurn
	case agent.EventBlocked:
		r.sendText("The prompt was refused: " + e.Text + "\n")
		r.reason = sdk.StopReasonRefusal
	default:
		if e.Err == nil {
			e.Err = fault.New(fault.Unknown, "cli.acp", "The prompt ended early: "+string(e.Type)+".", "")
		}
		r.err = &sdk.RequestError{Code: internalError, Message: display.Printable(r.host.Masked(e.Err.Line())), Data: map[string]any{"type": string(e.Err.Code)}}
	}
}

// sendText sends text of the answer.
func (s *session) sendText(text string) {
	if text = display.Printable(text); text != "" {
		s.send(sdk.UpdateAgentMessageText(text))
	}
}

// sendThought sends text that is not part of the answer.
func (s *session) sendThought(text string) {
	if text = display.Printable(text); strings.TrimSpace(text) != "" {
		s.send(sdk.UpdateAgentThoughtText(text))
	}
}
