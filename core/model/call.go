package model

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"strings"
)

// maxToolName is the longest tool name that every provider accepts.
const maxToolName = 64

// NewCallID returns an ID for a call that its provider sent without one. It is unique and valid for
// every provider.
func NewCallID() string { return "call_" + strings.ToLower(rand.Text()[:24]) }

// Object returns the arguments as a JSON object, the form that providers accept in a history. It
// returns {} for empty arguments. Arguments that are not a JSON object become a text under
// invalid_arguments, so that the model sees them.
func (c FunctionCall) Object() json.RawMessage {
	args := bytes.TrimSpace(c.Args)
	switch {
	case len(args) == 0:
		return json.RawMessage("{}")
	case args[0] == '{' && json.Valid(args):
		return json.RawMessage(args)
	}
	raw, err := json.Marshal(map[string]string{"invalid_arguments": string(args)})
	if err != nil {
		return json.RawMessage("{}")
	}
	return raw
}

// validToolName reports whether every provider accepts name as a tool name: 1 to 64 of a–z, A–Z,
// 0–9, _ and -.
func validToolName(name string) bool { return name != "" && SafeToolName(name) == name }

// SafeToolName returns a tool name that every provider accepts in a history, since a model may
// invent a name and providers allow different ones. It is cut to 64 characters; every other
// character becomes _; an empty name becomes generic_tool.
func SafeToolName(name string) string {
	if name == "" {
		return "generic_tool"
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	return name[:min(len(name), maxToolName)]
}
