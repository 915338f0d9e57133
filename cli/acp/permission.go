package acp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/escape"
)

// ask asks the editor's user about a call and returns the answer. Everything but a
// selected offered option is a no. ok is false if the question has ended meanwhile.
func (s *session) ask(ctx context.Context, q bus.ToolConfirmationRequest) (answer bus.ToolConfirmationResponse, ok bool) {
	answer = bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Outcome: bus.Cancel}
	choices := approval.Choices(q, program.ApprovalsFile(s.host.Config()))
	var options []sdk.PermissionOption
	for _, c := range choices {
		if c.Outcome != bus.ModifyWithEditor { // the editor edits files, not proposals
			options = append(options, optionOf(c))
		}
	}
	start := s.describe(q.ToolCall.Name, q.ToolCall.Args, "", q.Subagent)
	if title := display.Line(q.Details.Title); title != "" {
		start.Title = escape.Clip(title, maxTitle)
	}
	chosen, err := s.choose(ctx, options, sdk.ToolCallUpdate{
		ToolCallId: sdk.ToolCallId(s.calls.wire(q.CallID)), Title: sdk.Ptr(start.Title), Kind: sdk.Ptr(start.Kind), Status: sdk.Ptr(sdk.ToolCallStatusPending),
		Locations: start.Locations, RawInput: start.RawInput, Content: questionContent(q),
	})
	if ctx.Err() != nil {
		return answer, false
	}
	if err != nil {
		s.sendThought("The editor could not ask for approval, so the call was denied: " + err.Error() + "\n\n")
	}
	for _, c := range choices {
		if string(c.Outcome) == chosen && c.Outcome != bus.ModifyWithEditor {
			answer.Outcome, answer.Confirmed = c.Outcome, c.Outcome != bus.Cancel
		}
	}
	return answer, true
}

// choose asks the editor's user to select an option. It returns "" for none.
func (s *session) choose(ctx context.Context, options []sdk.PermissionOption, about sdk.ToolCallUpdate) (string, error) {
	r, err := s.agent.conn.RequestPermission(ctx, sdk.RequestPermissionRequest{SessionId: sdk.SessionId(s.id), Options: options, ToolCall: about})
	switch {
	case err != nil:
		return "", err
	case r.Outcome.Selected == nil:
		return "", nil
	}
	return string(r.Outcome.Selected.OptionId), nil
}

// optionOf converts an answer to an option.
func optionOf(c approval.Choice) sdk.PermissionOption {
	o := sdk.PermissionOption{OptionId: sdk.PermissionOptionId(c.Outcome), Kind: sdk.PermissionOptionKindAllowOnce}
	o.Name = strings.NewReplacer("[", "", "]", "").Replace(c.Label)
	o.Name = strings.ToUpper(o.Name[:1]) + o.Name[1:]
	switch {
	case c.Outcome == bus.Cancel:
		o.Kind = sdk.PermissionOptionKindRejectOnce
	case c.Until != "":
		o.Kind = sdk.PermissionOptionKindAllowAlways
		o.Name = escape.Clip(o.Name+" ("+c.Stores(false)+")", maxTitle)
	}
	return o
}

// questionContent returns the effect of the call, and why it needs approval.
func questionContent(q bus.ToolConfirmationRequest) []sdk.ToolCallContent {
	var all []sdk.ToolCallContent
	if d := q.Details; d.EditDetails != nil {
		all = append(all, diffContent(d.FilePath, d.OriginalContent, d.NewContent))
	}
	block := func(text string) string { return fenced(cut(text)) }
	return append(all, textContent(approval.Effect(q, block)))
}

// questions asks the editor's user the questions of a tool, of an MCP server or of the
// program, one after another. Choices and yes or no are options. The protocol has no text
// fields: a question that needs text and has no default cancels all of them, with a
// message that asks the user to answer in a prompt.
func (s *session) questions(ctx context.Context, asked bus.AskUserRequest) (answer bus.AskUserResponse, ok bool) {
	answer = bus.AskUserResponse{CorrelationID: asked.CorrelationID, Answers: map[string]string{}}
	giveUp := bus.AskUserResponse{CorrelationID: asked.CorrelationID, Answers: map[string]string{}, Cancelled: true}
	for _, q := range asked.Questions {
		if !selectable(q) && !q.Optional && q.Default == "" {
			s.sendText(fmt.Sprintf("\n\n%s asks: %s\nThis editor cannot ask for text here; answer in your next prompt.\n\n", askerOf(asked), q.Question))
			return giveUp, ctx.Err() == nil
		}
	}
	for i, q := range asked.Questions {
		if !selectable(q) {
			continue // optional, or with a default
		}
		chosen, err := s.question(ctx, asked, i)
		switch {
		case ctx.Err() != nil:
			return answer, false
		case err != nil || chosen < 0:
			return giveUp, true
		case q.Type == bus.QuestionYesNo:
			answer.Answers[fmt.Sprint(i)] = [...]string{"yes", "no"}[chosen]
		default:
			answer.Answers[fmt.Sprint(i)] = q.Options[chosen].Label
		}
	}
	return answer, true
}

// selectable reports whether the answers to a question can be options.
func selectable(q bus.UserQuestion) bool {
	return q.Type == bus.QuestionYesNo || q.Type == bus.QuestionChoice && len(q.Options) > 0
}

// askerOf names the asker of questions.
func askerOf(asked bus.AskUserRequest) string {
	switch {
	case asked.Program:
		return "fettle"
	case asked.Server != "":
		return "The MCP server " + display.Line(asked.Server)
	case asked.Subagent != "":
		return "The subagent " + display.Line(asked.Subagent)
	}
	return "The model"
}

// question asks one question and returns the index of the chosen option, -1 for none.
func (s *session) question(ctx context.Context, asked bus.AskUserRequest, i int) (int, error) {
	q := asked.Questions[i]
	labels := []string{"Yes", "No"}
	var b strings.Builder
	fmt.Fprintf(&b, "%s asks: %s\n", askerOf(asked), q.Question)
	if q.Type == bus.QuestionChoice {
		labels = nil
		for _, o := range q.Options {
			labels = append(labels, o.Label)
			fmt.Fprintf(&b, "- %s: %s\n", display.Line(o.Label), display.Line(o.Description))
		}
	}
	var options []sdk.PermissionOption
	for n, label := range labels {
		kind := sdk.PermissionOptionKindAllowOnce
		if q.Type == bus.QuestionYesNo && n == 1 {
			kind = sdk.PermissionOptionKindRejectOnce
		}
		options = append(options, sdk.PermissionOption{OptionId: sdk.PermissionOptionId(fmt.Sprintf("answer_%d", n)), Name: escape.Clip(display.Line(label), maxTitle), Kind: kind})
	}
	if q.Type == bus.QuestionChoice {
		options = append(options, sdk.PermissionOption{OptionId: "none", Name: "No answer", Kind: sdk.PermissionOptionKindRejectOnce})
	}
	id := fmt.Sprintf("%s?%d", asked.CorrelationID, i)
	about := sdk.ToolCallUpdate{ToolCallId: sdk.ToolCallId(id), Title: sdk.Ptr(escape.Clip(display.Line(q.Question), maxTitle)), Kind: sdk.Ptr(sdk.ToolKindOther),
		Status: sdk.Ptr(sdk.ToolCallStatusPending), Content: []sdk.ToolCallContent{textContent(b.String())}}
	s.send(sdk.SessionUpdate{ToolCall: &sdk.SessionUpdateToolCall{ToolCallId: about.ToolCallId, Title: *about.Title, Kind: *about.Kind, Status: *about.Status, Content: about.Content}})
	chosen, err := s.choose(ctx, options, about)
	s.send(sdk.SessionUpdate{ToolCallUpdate: &sdk.SessionToolCallUpdate{ToolCallId: about.ToolCallId, Status: sdk.Ptr(sdk.ToolCallStatusCompleted)}})
	for n := range labels {
		if chosen == fmt.Sprintf("answer_%d", n) {
			return n, err
		}
	}
	return -1, err
}
