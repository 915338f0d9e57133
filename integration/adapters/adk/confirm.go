package adk

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"google.golang.org/adk/v2/agent"
)

// request asks the user by the kit's confirmation.
func request(ctx agent.Context, q bus.ToolConfirmationRequest) error {
	payload, err := convert[map[string]any](q) // a session service may keep it as JSON
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

// hint says in words what would be done.
func hint(q bus.ToolConfirmationRequest) string {
	said := []string{q.Details.Title}
	switch d := q.Details; {
	case d.EditDetails != nil:
		said = append(said, d.FilePath, d.FileDiff)
	case d.ExecDetails != nil:
		said = append(said, d.Command)
	case d.MCPDetails != nil:
		said = append(said, fmt.Sprintf("%s of the server %s, with %s", d.ToolName, d.MCPDetails.ServerName, d.ToolArgs))
	case d.InfoDetails != nil:
		said = append(said, d.Prompt)
	}
	if q.Details.SystemMessage != "" {
		said = append(said, q.Details.SystemMessage)
	}
	return strings.Join(said, "\n")
}

// given is what the user has answered about the call of ctx, or nil.
func given(ctx agent.Context) *config.Given {
	confirmation := ctx.ToolConfirmation()
	if confirmation == nil {
		return nil
	}
	question, ok := asked(ctx)
	if !ok {
		return nil // so that it is asked again
	}
	g := &config.Given{Question: question}
	if answer, err := convert[bus.ToolConfirmationResponse](confirmation.Payload); err == nil {
		g.Answer = answer
	}
	if g.Answer.Confirmed = confirmation.Confirmed; !confirmation.Confirmed {
		g.Answer.Outcome = bus.Cancel
	}
	return g
}

// asked is what the user was shown about the call of ctx, as the session's state
// keeps it meanwhile.
func asked(ctx agent.Context) (question bus.ToolConfirmationRequest, ok bool) {
	kept, err := ctx.State().Get(stateKey(ctx))
	text, isText := kept.(string)
	if err != nil || !isText || json.Unmarshal([]byte(text), &question) != nil {
		return question, false
	}
	return question, true
}

// keep keeps text in the session's state about the call of ctx.
func keep(ctx agent.Context, text string) error { return ctx.State().Set(stateKey(ctx), text) }

func stateKey(ctx agent.Context) string { return "fettle_question_" + ctx.FunctionCallID() }

// convert makes a value another one of the same JSON.
func convert[T any](from any) (to T, err error) {
	raw, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(raw, &to)
	}
	return to, err
}
