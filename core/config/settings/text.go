package settings

import (
	"encoding/json"
	"slices"
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

// hidden are the names below which a settings file may hold secrets as they
// are.
func hidden() []string { return []string{"env", "headers", "clientSecret"} }

// Masked returns a copy of a key's value to show to people: what may be a
// secret is *** in it, except the names of variables.
func Masked(key string, value any) any {
	return mask(value, slices.Contains(hidden(), key[strings.LastIndexByte(key, '.')+1:]))
}

func mask(value any, secret bool) any {
	switch v := value.(type) {
	case string:
		if m := variable.FindString(v); secret && (m == "" || m != v || strings.Contains(m, ":-")) {
			return "***"
		}
	case []any:
		list := make([]any, len(v))
		for i, part := range v {
			list[i] = mask(part, secret)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, part := range v {
			object[name] = mask(part, secret || slices.Contains(hidden(), name))
		}
		return object
	}
	return value
}
