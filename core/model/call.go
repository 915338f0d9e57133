package model

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"strings"
)

// maxToolName is the longest name of a tool that every provider takes.
const maxToolName = 64

// NewCallID returns an ID for a call whose provider gave it none. It differs from
// every other and is one that every provider takes.
func NewCallID() string { return "call_" + strings.ToLower(rand.Text()[:24]) }

// Object returns the arguments as a JSON object, which is what providers take
// back: as the model wrote them, {} where it wrote none, and anything else that
// it wrote as a text under invalid_arguments, so that it sees what it did.
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

// ValidToolName reports whether every provider takes name for a tool: 1 to 64 of
// a–z, A–Z, 0–9, _ and -.
func ValidToolName(name string) bool { return name != "" && SafeToolName(name) == name }

// SafeToolName returns name as every provider takes it back in a conversation,
// though a model made it up or another provider allowed it: cut to 64 characters,
// _ in the place of others, generic_tool in the place of none.
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
