package cli

import (
	"encoding/json"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/core/model"
)

// itemsOf is a conversation as a person has seen it: of a prompt its own words,
// which come first, of a call its name and arguments.
func itemsOf(history []model.Content) []interactive.Item {
	ok := map[string]bool{}
	for _, turn := range history {
		for _, r := range turn.Responses() {
			ok[r.ID] = !isFailure(r.Response)
		}
	}
	var items []interactive.Item
	for _, turn := range history {
		if turn.Role == model.RoleUser {
			if text := firstText(turn); text != "" && len(turn.Responses()) == 0 {
				items = append(items, interactive.Item{Role: "user", Text: text})
			}
			continue
		}
		for _, part := range turn.Parts {
			switch {
			case part.Call != nil:
				items = append(items, interactive.Item{Role: "tool", Name: part.Call.Name, Text: string(part.Call.Args), OK: ok[part.Call.ID]})
			case part.Text != "" && !part.Thought:
				items = append(items, interactive.Item{Role: "assistant", Text: part.Text})
			}
		}
	}
	return items
}

func firstText(turn model.Content) string {
	for _, part := range turn.Parts {
		if part.Text != "" {
			return part.Text
		}
	}
	return ""
}

// isFailure reports whether a response to a call tells an error.
func isFailure(response json.RawMessage) bool {
	var r struct{ Error json.RawMessage }
	return json.Unmarshal(response, &r) == nil && len(r.Error) > 0 && string(r.Error) != "null"
}
