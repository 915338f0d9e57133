package tools

import (
	"encoding/json"
	"strings"
)

// Amend returns params, the canonical arguments of a call as
// [ToolInvocation.Params] gives them, with the texts of set put in place and
// the members of drop left out. A [Modifiable] makes the Params of its new
// invocation by it. It fails where params is no JSON object.
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
