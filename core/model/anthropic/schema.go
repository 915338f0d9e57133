package anthropic

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// structured returns a schema in the subset that the API supports for structured output. Objects
// are closed. Restrictions of values that the API does not support become part of the description,
// where the model reads them. ok is false if the subset has no such schema.
func structured(schema map[string]any) (out map[string]any, ok bool) {
	out, rest := map[string]any{}, map[string]any{}
	for key, value := range schema {
		if !supported(key, value) {
			rest[key] = value
			continue
		}
		if key == "oneOf" { // the API supports only anyOf
			key = "anyOf"
			if _, both := schema[key]; both {
				return nil, false
			}
		}
		if out[key], ok = converted(key, value); !ok {
			return nil, false
		}
	}
	if _, reference := out["$ref"]; reference { // the API supports nothing else beside it
		maps.DeleteFunc(out, func(key string, _ any) bool { return key != "$ref" && key != "$defs" && key != "definitions" })
		return out, true
	}
	if !slices.ContainsFunc([]string{"type", "anyOf", "allOf", "enum", "const"}, func(key string) bool { return out[key] != nil }) {
		return nil, false
	}
	if out["type"] == "object" {
		if out["properties"] == nil {
			if _, dictionary := schema["additionalProperties"].(map[string]any); dictionary || schema["patternProperties"] != nil {
				return nil, false
			}
			out["properties"] = map[string]any{}
		}
		out["additionalProperties"] = false
	}
	describe(out, rest)
	return out, true
}

// supported reports whether the API supports a keyword with this value.
func supported(key string, value any) bool {
	switch key {
	case "$ref", "$defs", "definitions", "type", "title", "description", "default", "enum", "const", "anyOf", "allOf", "oneOf", "items", "properties", "required":
		return true
	case "format":
		return slices.Contains([]string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}, fmt.Sprint(value))
	case "minItems":
		return fmt.Sprint(value) == "0" || fmt.Sprint(value) == "1"
	}
	return false
}

// converted returns the value of a supported keyword, with the schemas in it converted.
func converted(key string, value any) (any, bool) {
	switch key {
	case "type":
		_, one := value.(string) // and not a list of types
		return value, one
	case "items":
		schema, _ := value.(map[string]any)
		return structured(schema)
	case "anyOf", "allOf":
		list, _ := value.([]any)
		out := make([]any, len(list))
		for i, v := range list {
			schema, _ := v.(map[string]any)
			var ok bool
			if out[i], ok = structured(schema); !ok {
				return nil, false
			}
		}
		return out, len(list) > 0
	case "$defs", "definitions", "properties":
		named, ok := value.(map[string]any)
		out := make(map[string]any, len(named))
		for name, v := range named {
			schema, _ := v.(map[string]any)
			if out[name], ok = structured(schema); !ok {
				return nil, false
			}
		}
		return out, ok
	}
	return value, true
}

// describe adds the keywords in rest to the description of a schema.
func describe(schema, rest map[string]any) {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(rest)) {
		if key == "additionalProperties" || strings.HasPrefix(key, "$") {
			continue
		}
		if raw, err := json.Marshal(rest[key]); err == nil {
			parts = append(parts, key+": "+string(raw))
		}
	}
	if len(parts) == 0 {
		return
	}
	text := "{" + strings.Join(parts, ", ") + "}"
	if old, _ := schema["description"].(string); old != "" {
		text = old + "\n\n" + text
	}
	schema["description"] = text
}
