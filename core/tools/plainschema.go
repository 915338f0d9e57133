package tools

import (
	"encoding/json"
	"strconv"
	"strings"
)

// plainValue reports whether a value is valid for a key of a plain schema. It covers the common part of drafts 6 to
// 2020-12.
func plainValue(key string, v any) bool {
	switch key {
	case "type":
		return plainType(v)
	case "properties":
		return plainMembers(v)
	case "items", "additionalProperties", "not":
		return plainSchema(v)
	case "anyOf", "oneOf", "allOf":
		return plainList(v)
	case "required":
		return plainRequired(v)
	case "enum":
		list, ok := v.([]any)
		return ok && len(list) > 0 && plainEnum(list)
	case "title", "description", "format", "$comment":
		_, ok := v.(string)
		return ok
	case "pattern":
		pattern, ok := v.(string)
		return ok && compiles(pattern)
	case "const", "default":
		return true
	case "examples":
		_, ok := v.([]any)
		return ok
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		_, ok := v.(json.Number)
		return ok
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		n, ok := v.(json.Number)
		_, err := strconv.ParseUint(string(n), 10, 31)
		return ok && err == nil
	case "uniqueItems", "readOnly", "writeOnly", "deprecated":
		_, ok := v.(bool)
		return ok
	case "$schema":
		switch v {
		case "https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2019-09/schema",
			"http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-06/schema#":
			return true
		}
	}
	return false
}

// plainSchema reports whether a schema is certain to compile: it has only known keys with values of their kinds, and no
// references. Other schemas need the compiler, which takes a hundred times as long, mostly to validate them against the
// metaschema.
func plainSchema(schema any) bool {
	if _, ok := schema.(bool); ok {
		return true
	}
	object, ok := schema.(map[string]any)
	if !ok {
		return false
	}
	for key, value := range object {
		if !plainValue(key, value) {
			return false
		}
	}
	return true
}

func plainMembers(v any) bool {
	members, ok := v.(map[string]any)
	for _, m := range members {
		ok = ok && plainSchema(m)
	}
	return ok
}

func plainList(v any) bool {
	list, ok := v.([]any)
	for _, s := range list {
		ok = ok && plainSchema(s)
	}
	return ok && len(list) > 0
}

func plainType(v any) bool {
	types, several := v.([]any)
	if !several {
		types = []any{v}
	}
	seen := map[any]bool{}
	for _, t := range types {
		switch t {
		case "string", "number", "integer", "boolean", "object", "array", "null":
			if seen[t] {
				return false
			}
			seen[t] = true
		default:
			return false
		}
	}
	return len(types) > 0
}

// plainRequired reports whether a value is a list of distinct strings.
func plainRequired(v any) bool {
	list, ok := v.([]any)
	if !ok {
		return false
	}
	seen := map[any]bool{}
	for _, name := range list {
		if _, text := name.(string); !text || seen[name] {
			return false
		}
		seen[name] = true
	}
	return true
}

// plainEnum reports whether the values of a list are distinct strings, numbers and similar values.
func plainEnum(list []any) bool {
	seen := map[any]bool{}
	for _, v := range list {
		switch v := v.(type) {
		case string, bool, nil:
		case json.Number:
			if v == "-0" || strings.ContainsAny(string(v), ".eE") { // other literals may be equal to it
				return false
			}
		default:
			return false
		}
		if seen[v] {
			return false
		}
		seen[v] = true
	}
	return true
}
