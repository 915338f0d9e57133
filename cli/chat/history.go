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

// itemsOf converts a conversation to the items that the user has seen: the text of a
// prompt, which comes first, and the description of a call.
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
				items = append(items, interactive.Item{Role: "user", Text: asTyped(text, c.targetDir())})
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

// describe returns the description of a call of an earlier conversation by its tool,
// "" if the tool no longer exists or rejects the arguments.
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

// asTyped shows the files of a prompt relative to the directory, as typed, instead of
// the paths that the model received.
func asTyped(prompt, dir string) string {
	for _, dir := range []string{dir, escapeMention(dir)} {
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

// statusOf returns the status of a call from the response that the model received.
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
