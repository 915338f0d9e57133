package settings

import (
	"encoding/json"
	"strings"
)

// ParseValue reads a value for a key, or what else Set takes, from a command
// line: JSON where the key takes something else than a text, and what is no JSON
// as a text. Whether the key takes it is for Set to say.
func ParseValue(key, text string) any {
	n := nodeAt(key)
	if n == nil {
		n = otherPlace(key)
	}
	if n != nil && n.key != nil && n.key.kind == aText && !strings.HasPrefix(text, `"`) {
		return text
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return text
	}
	return value
}
