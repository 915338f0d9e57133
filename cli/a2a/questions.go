package a2a

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	protocol "github.com/a2aproject/a2a-go/a2a"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/bus"
)

// maxShown is the size in bytes of a command, a diff or arguments in a question.
const maxShown = 64 << 10

// ask asks the client a question of the running task. Questions are asked one after another. ok is
// false if there is no running task, or the question has ended.
func (s *session) ask(ctx context.Context, text string, data map[string]any) (reply answer, ok bool) {
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
	case <-ctx.Done():
		return answer{}, false
	}
	s.mu.Lock()
	t := s.current
	s.mu.Unlock()
	if t == nil {
		return answer{}, false
	}
	return t.ask(ctx, protocol.TextPart{Text: display.Printable(s.host.Masked(text))}, protocol.DataPart{Data: data})
}

// approval asks for the approval of a call. An unclear answer leads to the same question. The
// call is denied if no task runs.
func (s *session) approval(ctx context.Context, q bus.ToolConfirmationRequest) (given bus.ToolConfirmationResponse, ok bool) {
	given = bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Outcome: bus.Cancel}
	var choices []approval.Choice
	var options []any
	for _, c := range approval.Choices(q, program.ApprovalsFile(s.host.Config())) {
		if c.Outcome != bus.ModifyWithEditor { // the client has no editor
			choices = append(choices, c)
			options = append(options, map[string]any{"answer": c.Word, "outcome": string(c.Outcome), "effect": c.Stores(false)})
		}
	}
	text := approvalText(q, choices)
	data := map[string]any{"kind": "approval", "id": q.CorrelationID, "tool": display.Line(q.ToolCall.Name), "options": options, "why": approval.Why(q)}
	for {
		reply, ok := s.ask(ctx, text, data)
		if !ok {
			return given, ctx.Err() == nil
		}
		for _, c := range choices {
			if reply.chooses(c) {
				given.Outcome, given.Confirmed = c.Outcome, c.Outcome != bus.Cancel
				return given, true
			}
		}
		text = "The answer is none of the options.\n\n" + strings.TrimPrefix(text, "The answer is none of the options.\n\n")
	}
}

// chooses reports whether an answer is a choice, by its key, word or outcome.
func (a answer) chooses(c approval.Choice) bool {
	if a.data != nil {
		outcome, _ := a.data["outcome"].(string)
		word, _ := a.data["answer"].(string)
		return outcome == string(c.Outcome) || outcome == "" && strings.EqualFold(word, c.Word)
	}
	return strings.EqualFold(a.text, c.Word) || strings.EqualFold(a.text, c.Key) || a.text == string(c.Outcome)
}

// approvalText returns a question with the effect of the call, its reason and the answers.
func approvalText(q bus.ToolConfirmationRequest, choices []approval.Choice) string {
	var b strings.Builder
	d := q.Details
	fmt.Fprintf(&b, "Approve the call of %s? %s\n", display.Line(q.ToolCall.Name), display.Line(d.Title))
	if d.EditDetails != nil {
		b.WriteString(shortened(d.FileDiff) + "\n")
	}
	b.WriteString(approval.Effect(q, shortened) + "\nAnswer with one of:\n")
	for _, c := range choices {
		fmt.Fprintf(&b, "- %s (%s): %s\n", c.Word, c.Key, c.Stores(false))
	}
	return b.String()
}

// shortened cuts a long text in the middle.
func shortened(text string) string { return display.Shortened(text, maxShown) }

// questions asks the questions of a tool, of an MCP server or of the program, one after another. An
// answer whose data has cancel set to true declines all of them.
func (s *session) questions(ctx context.Context, asked bus.AskUserRequest) (given bus.AskUserResponse, ok bool) {
	given = bus.AskUserResponse{CorrelationID: asked.CorrelationID, Answers: map[string]string{}}
	for i, q := range asked.Questions {
		var options []any
		text := q.Question + "\n"
		for n, o := range q.Options {
			options = append(options, map[string]any{"answer": o.Label, "description": o.Description})
			text += fmt.Sprintf("%d. %s: %s\n", n+1, display.Line(o.Label), display.Line(o.Description))
		}
		data := map[string]any{"kind": "question", "id": asked.CorrelationID, "type": string(q.Type), "optional": q.Optional, "default": q.Default, "options": options}
		reply, ok := s.ask(ctx, text, data)
		if !ok || reply.declines() {
			return bus.AskUserResponse{CorrelationID: asked.CorrelationID, Answers: map[string]string{}, Cancelled: true}, ctx.Err() == nil
		}
		given.Answers[strconv.Itoa(i)] = reply.to(q)
	}
	return given, true
}

func (a answer) declines() bool {
	cancel, _ := a.data["cancel"].(bool)
	return cancel
}

// to returns the answer to a question. The number of an option stands for its label.
func (a answer) to(q bus.UserQuestion) string {
	text := a.text
	if given, ok := a.data["answer"].(string); ok {
		text = given
	}
	if n, err := strconv.Atoi(text); err == nil && q.Type == bus.QuestionChoice && n >= 1 && n <= len(q.Options) {
		return q.Options[n-1].Label
	}
	return text
}

// jsonOf returns a value as JSON.
func jsonOf(v any) string {
	data, err := json.Marshal(v)
	if err != nil { // it was decoded from JSON
		return err.Error()
	}
	return string(data)
}
