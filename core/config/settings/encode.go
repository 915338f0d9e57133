package settings

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// encode returns a value as JSON text, with lists of plain values on one line.
// indent is that of the line on which it begins, unit one further step; "": all
// on one line.
func encode(value any, indent, unit string) []byte {
	var parts []string
	opening, closing, inline := "[", "]", unit == ""
	switch v := value.(type) {
	case []any:
		inline = inline || !slices.ContainsFunc(v, structured)
		for _, part := range v {
			parts = append(parts, string(encode(part, indent+unit, unit)))
		}
	case map[string]any:
		opening, closing = "{", "}"
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, quoted(name)+": "+string(encode(v[name], indent+unit, unit)))
		}
	default:
		return plain(value)
	}
	if inline || len(parts) == 0 {
		return []byte(opening + strings.Join(parts, ", ") + closing)
	}
	line := "\n" + indent + unit
	return []byte(opening + line + strings.Join(parts, ","+line) + "\n" + indent + closing)
}

// plain encodes a value that is neither list nor map.
func plain(value any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic("settings: " + err.Error()) // a value decoded from JSON can be encoded
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

func structured(value any) bool {
	switch value.(type) {
	case []any, map[string]any:
		return true
	}
	return false
}
