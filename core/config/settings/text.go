package settings

import (
	"encoding/json"
	"strings"
)

// ParseValue parses a value from a command line for a key, or for another name
// that Set accepts: as JSON if the key is not a text, and otherwise, or if it is
// not JSON, as a text. Set validates the value.
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
