package settings

import (
	"encoding/json"
	"strings"
)

// ParseValue reads a value for a key, or what else Set takes, from a command
// line: JSON where the key takes something else than a text, and what is no JSON
// as a text. Whether the key takes it is for Set to say.
func ParseValue(key, text string) any {
	if t, ok := targetOf(key); ok && t.schema["type"] == "string" && !strings.HasPrefix(text, `"`) {
		return text
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return text
	}
	return value
}
