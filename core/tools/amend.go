package tools

import (
	"encoding/json"
	"strings"
)

// Amend returns params, the canonical arguments of a call as [ToolInvocation.Params] returns them, with the texts of set
// added or replaced and the members of drop removed. A [Modifiable] builds the Params of its new invocation with it. It
// fails if params is not a JSON object.
func Amend(params json.RawMessage, set map[string]string, drop ...string) (json.RawMessage, error) {
	object, err := readArguments(params, nil)
	if err != nil {
		return nil, err
	}
	for _, name := range drop {
		delete(object, name)
	}
	for name, text := range set {
		object[name] = strings.ToValidUTF8(text, "\ufffd")
	}
	return appendJSON(nil, object), nil
}
