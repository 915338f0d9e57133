package tools

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// maxRepairRounds is the maximum number of repairs and checks of arguments: a string may hold an object in which a
// number is again text.
const maxRepairRounds = 4

// repair changes the values at failures for which exactly one safe conversion exists, and reports whether it changed
// any.
func repair(root any, failures []failure) bool {
	changed := false
	for _, f := range failures {
		if f.repair(root) {
			changed = true
		}
	}
	return changed
}

func (f failure) repair(root any) bool {
	if len(f.path) == 0 {
		return false
	}
	parent, ok := lookUp(root, f.path[:len(f.path)-1])
	if !ok {
		return false
	}
	last := f.path[len(f.path)-1]
	value, ok := step(parent, last)
	if !ok {
		return false
	}
	readings := f.readings(value)
	if len(readings) == 0 {
		if object, ok := parent.(map[string]any); ok && value == nil && f.optional {
			delete(object, last)
			return true
		}
		return false
	}
	for _, other := range readings[1:] {
		if !bytes.Equal(appendJSON(nil, readings[0]), appendJSON(nil, other)) {
			return false // ambiguous: change neither
		}
	}
	switch parent := parent.(type) {
	case map[string]any:
		parent[last] = readings[0]
	case []any:
		i, err := strconv.Atoi(last)
		if err != nil {
			return false
		}
		parent[i] = readings[0]
	}
	return true
}

// readings returns the possible conversions of value, one for each type that the schema allows here.
func (f failure) readings(value any) []any {
	var list []any
	if f.keyword == "type" {
		for _, want := range typesOf(f.schema["type"]) {
			if v, ok := read(value, want, f.schema); ok {
				list = append(list, v)
			}
		}
	}
	for _, b := range f.branches {
		if len(b.path) == len(f.path) {
			list = append(list, b.readings(value)...)
		}
	}
	return list
}

// read converts value to type want, if that is safe.
func read(value any, want string, schema map[string]any) (any, bool) {
	if text, ok := value.(string); ok {
		return readText(text, want, schema)
	}
	return nil, false
}

func readText(text, want string, schema map[string]any) (any, bool) {
	trimmed := strings.TrimSpace(text)
	switch want {
	case "integer", "number":
		v, err := readJSON([]byte(trimmed))
		if n, ok := v.(json.Number); err == nil && ok {
			if want == "number" || !strings.ContainsAny(integral(string(n)), ".eE") {
				return n, true
			}
		}
	case "boolean":
		switch strings.ToLower(trimmed) {
		case "true":
			return true, true
		case "false":
			return false, true
		}
	case "object":
		v, err := readJSON([]byte(trimmed))
		if object, ok := v.(map[string]any); err == nil && ok {
			return object, true
		}
	case "array":
		return readArray(text, schema)
	}
	return nil, false
}

// readArray decodes text as a JSON array. If the schema wants an array of strings, only an array of strings counts as
// one: any other text is itself the one element, such as the file name "[1]".
func readArray(text string, schema map[string]any) (any, bool) {
	items, _ := schema["items"].(map[string]any)
	ofStrings := items["type"] == "string"
	v, err := readJSON([]byte(strings.TrimSpace(text)))
	if list, ok := v.([]any); err == nil && ok {
		if !ofStrings || allStrings(list) {
			return list, true
		}
	}
	if ofStrings {
		return []any{text}, true
	}
	return nil, false
}

func allStrings(list []any) bool {
	for _, v := range list {
		if _, ok := v.(string); !ok {
			return false
		}
	}
	return true
}
