package tools

import (
	"encoding/json"
	"strings"
)

// Amend returns params, the canonical arguments of a call as [ToolInvocation.Params] returns them, with the members of set
// added or replaced and those of drop removed. The values of set are as of encoding/json; bytes of a text that are no
// UTF-8 become U+FFFD. A [Modifiable] builds the Params of its new invocation with it. It
// fails if params is not a JSON object.
func Amend(params json.RawMessage, set map[string]any, drop ...string) (json.RawMessage, error) {
	object, long, err := readArguments(params, nil)
	if err != nil {
		return nil, err
	}
	for _, name := range drop {
		delete(object, name)
	}
	for name, value := range set {
		if text, ok := value.(string); ok {
			value = strings.ToValidUTF8(text, "\ufffd")
		}
		object[name] = value
	}
	return appendObject(nil, object, long), nil
}
