package chat

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/tools"
)

// itemsOf is a conversation as the person has seen it: of a prompt its own words,
// which come first, of a call what it was said to do.
func (c *chat) itemsOf(history []model.Content) []interactive.Item {
	became := map[string]bus.CallStatus{}
	for _, turn := range history {
		for _, r := range turn.Responses() {
			became[r.ID] = statusOf(r.Response)
		}
	}
	var items []interactive.Item
	for _, turn := range history {
		if turn.Role == model.RoleUser {
			if text := firstText(turn); text != "" && len(turn.Responses()) == 0 {
				items = append(items, interactive.Item{Role: "user", Text: asTyped(text, c.folder())})
			}
			continue
		}
		for _, part := range turn.Parts {
			switch {
			case part.Call != nil:
				status, answered := became[part.Call.ID]
				if !answered {
					status = bus.StatusCancelled
				}
				items = append(items, interactive.Item{
					Role: "tool", Name: part.Call.Name, Text: c.describe(part.Call), Status: string(status), OK: status == bus.StatusSuccess,
				})
			case part.Text == agent.InterruptedText && len(turn.Parts) == 1:
				items = append(items, interactive.Item{Role: "notice", Text: "This answer was interrupted."})
			case part.Text != "" && !part.Thought:
				items = append(items, interactive.Item{Role: "assistant", Text: part.Text})
			}
		}
	}
	return items
}

// describe says what a call of an earlier conversation was to do, as its tool does;
// "" where there is no such tool any more, or it does not take such arguments.
func (c *chat) describe(call *model.FunctionCall) string {
	description := ""
	_ = tools.Protect(call.Name, "describe", func() error {
		tool, err := c.session.Lookup(call.Name)
		if err != nil {
			return err
		}
		inv, err := tool.Build(call.Args)
		if err == nil && inv != nil {
			description = inv.Description()
		}
		return err
	})
	return description
}

// asTyped shows the files that a prompt names relative to the directory that they lie
// in, as they are typed, and not by the paths that the model was told.
func asTyped(prompt, folder string) string {
	for _, dir := range []string{folder, escapeMention(folder)} {
		prompt = strings.ReplaceAll(prompt, "@"+strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator), "@")
	}
	return prompt
}

func firstText(turn model.Content) string {
	for _, part := range turn.Parts {
		if part.Text != "" {
			return part.Text
		}
	}
	return ""
}

// statusOf is how a call has ended, by the response that the model was given.
func statusOf(response json.RawMessage) bus.CallStatus {
	var r struct{ Error *struct{ Type fault.Code } }
	if json.Unmarshal(response, &r) != nil || r.Error == nil {
		return bus.StatusSuccess
	}
	switch r.Error.Type {
	case fault.Cancelled:
		return bus.StatusCancelled
	case fault.PolicyViolation, fault.DeniedByUser, fault.NoApprover:
		return bus.StatusDenied
	}
	return bus.StatusError
}
