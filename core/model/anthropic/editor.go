package anthropic

import (
	"encoding/json"
	"slices"

	"github.com/fettle-dev/fettle/core/model"
)

// The name and the type of the tool that the API defines. Its models were trained with it, so it is
// declared by its type, without a description and a schema.
const (
	textEditor     = "str_replace_based_edit_tool"
	textEditorType = "text_editor_20250728"
)

// isTextEditor reports whether a tool has the name, the commands and the arguments of the API's own
// tool. A tool of another program may have the name only.
func isTextEditor(t model.Tool) bool {
	var schema struct {
		Properties map[string]struct {
			Enum []string `json:"enum"`
		} `json:"properties"`
	}
	if t.Name != textEditor || json.Unmarshal(t.Parameters, &schema) != nil {
		return false
	}
	for _, name := range []string{"command", "path", "view_range", "file_text", "old_str", "new_str", "insert_line", "insert_text"} {
		if _, ok := schema.Properties[name]; !ok {
			return false
		}
	}
	commands := schema.Properties["command"].Enum
	return !slices.ContainsFunc([]string{"view", "create", "str_replace", "insert"}, func(c string) bool { return !slices.Contains(commands, c) })
}
