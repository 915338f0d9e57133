package tools

import (
	"encoding/json"
	"maps"
	"strings"
)

// Amend returns params, the canonical arguments of a call as [ToolInvocation.Params] returns them, with the texts of set
// added or replaced and the members of drop removed. A [Modifiable] builds the Params of its new invocation with it. It
// fails if params is not a JSON object.
func Amend(params json.RawMessage, set map[string]string, drop ...string) (json.RawMessage, error) {
	values := make(map[string]any, len(set))
	for name, text := range set {
		values[name] = strings.ToValidUTF8(text, "\ufffd")
	}
	return AmendValues(params, values, drop...)
}

// AmendValues is [Amend] for values as of encoding/json, whose texts are valid UTF-8.
func AmendValues(params json.RawMessage, set map[string]any, drop ...string) (json.RawMessage, error) {
	object, err := readArguments(params, nil)
	if err != nil {
		return nil, err
	}
	for _, name := range drop {
		delete(object, name)
	}
	maps.Copy(object, set)
	return appendJSON(nil, object), nil
}
