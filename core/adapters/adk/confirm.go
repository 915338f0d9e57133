package adk

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"google.golang.org/adk/v2/agent"
)

// request asks the user with a confirmation of the ADK.
func request(ctx agent.Context, q bus.ToolConfirmationRequest) error {
	payload, err := convert[map[string]any](q) // a session service may store it as JSON
	if err != nil {
		return err
	}
	text, err := json.Marshal(q)
	if err != nil {
		return err
	}
	if err := keep(ctx, string(text)); err != nil {
		return err
	}
	return ctx.RequestConfirmation(hint(q), payload)
}

// hint describes the call.
func hint(q bus.ToolConfirmationRequest) string {
	lines := []string{q.Details.Title}
	switch d := q.Details; {
	case d.EditDetails != nil:
		lines = append(lines, d.FilePath, d.FileDiff)
	case d.ExecDetails != nil:
		lines = append(lines, d.Command)
	case d.MCPDetails != nil:
		lines = append(lines, fmt.Sprintf("%s of the server %s, with %s", d.ToolName, d.MCPDetails.ServerName, d.ToolArgs))
	case d.InfoDetails != nil:
		lines = append(lines, d.Prompt)
	}
	if q.Details.SystemMessage != "" {
		lines = append(lines, q.Details.SystemMessage)
	}
	return strings.Join(lines, "\n")
}

// given returns the user's answer for the call of ctx, or nil.
func given(ctx agent.Context) *config.PriorAnswer {
	confirmation := ctx.ToolConfirmation()
	if confirmation == nil {
		return nil
	}
	question, ok := asked(ctx)
	if !ok {
		return nil // so that it is asked again
	}
	g := &config.PriorAnswer{Question: question}
	if answer, err := convert[bus.ToolConfirmationResponse](confirmation.Payload); err == nil {
		g.Answer = answer
	}
	if g.Answer.Confirmed = confirmation.Confirmed; !confirmation.Confirmed {
		g.Answer.Outcome = bus.Cancel
	}
	return g
}

// asked returns the request shown for the call of ctx, which the session's state
// keeps.
func asked(ctx agent.Context) (question bus.ToolConfirmationRequest, ok bool) {
	kept, err := ctx.State().Get(stateKey(ctx))
	text, isText := kept.(string)
	if err != nil || !isText || json.Unmarshal([]byte(text), &question) != nil {
		return question, false
	}
	return question, true
}

// keep stores text in the session's state for the call of ctx.
func keep(ctx agent.Context, text string) error { return ctx.State().Set(stateKey(ctx), text) }

func stateKey(ctx agent.Context) string { return "fettle_question_" + ctx.FunctionCallID() }

// convert converts a value to another type with the same JSON.
func convert[T any](from any) (to T, err error) {
	raw, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(raw, &to)
	}
	return to, err
}
