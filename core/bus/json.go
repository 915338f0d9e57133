package bus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// message is one of the package's messages.
type message struct {
	name   Type
	is     func(m Message) bool // by value
	decode func(data []byte) (Message, error)
}

func row[M Message]() message {
	var zero M
	return message{
		name: zero.Type(),
		is:   func(m Message) bool { _, ok := m.(M); return ok },
		decode: func(data []byte) (Message, error) {
			var m M
			if err := json.Unmarshal(data, &m); err != nil {
				return nil, fmt.Errorf("bus: unmarshal %s: %w", m.Type(), err)
			}
			return m, nil
		},
	}
}

// Types lists the types of all messages.
func Types() []Type {
	types := make([]Type, len(messages))
	for i, row := range messages {
		types[i] = row.name
	}
	return types
}

// known reports whether m is one of the package's messages, by value.
func known(m Message) bool {
	return slices.ContainsFunc(messages, func(row message) bool { return row.is(m) })
}

// Marshal returns a message as one JSON object: its fields and, first, its
// type under "type". Characters of HTML are not escaped, and bytes that are
// not UTF-8 become U+FFFD. It fails with [ErrInvalid] on what is no message of
// this package, and if a message holds what is not JSON.
func Marshal(m Message) ([]byte, error) {
	if !known(m) {
		return nil, fmt.Errorf("%w: %T is none of its messages, which are passed by value", ErrInvalid, m)
	}
	b := bytes.NewBufferString(`{"type":"` + string(m.Type()) + `",`)
	head := b.Len()
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(withLists(m)); err != nil {
		return nil, fmt.Errorf("bus: marshal %s: %w", m.Type(), err)
	}
	// The fields have their own brace, and the encoder ends with a line break.
	data := b.Bytes()
	return append(data[:head], data[head+1:len(data)-1]...), nil
}

// withLists returns m with empty lists where what readers expect is missing,
// so that they find none instead of null.
func withLists(m Message) Message {
	switch m := m.(type) {
	case ToolConfirmationRequest:
		m.Outcomes = present(m.Outcomes)
		m.Decision.Parts = present(m.Decision.Parts)
		if m.Details.ExecDetails != nil {
			exec := *m.Details.ExecDetails // shared with other readers
			exec.RootCommands = present(exec.RootCommands)
			m.Details.ExecDetails = &exec
		}
		return m
	case ToolPolicyRejection:
		m.Decision.Parts = present(m.Decision.Parts)
		return m
	case ToolCallsUpdate:
		m.ToolCalls = present(m.ToolCalls)
		return m
	case AskUserRequest:
		m.Questions = present(m.Questions)
		return m
	case AskUserResponse:
		if m.Answers == nil {
			m.Answers = map[string]string{}
		}
		return m
	}
	return m
}

func present[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Unmarshal reads what [Marshal] writes. Unknown fields are ignored, so that
// a newer writer is understood; an unknown type is refused with [ErrInvalid].
// What it returns is not checked further: [MessageBus.Publish] does that.
func Unmarshal(data []byte) (Message, error) {
	var envelope struct {
		Type Type `json:"type"`
	}
	if err := json.Unmarshal(data, &envelope); err != nil {
		return nil, fmt.Errorf("bus: unmarshal: %w", err)
	}
	for _, row := range messages {
		if row.name == envelope.Type {
			return row.decode(data)
		}
	}
	if envelope.Type == "" {
		return nil, fmt.Errorf("%w: it has no type", ErrInvalid)
	}
	return nil, fmt.Errorf("%w: its type %.40q is unknown", ErrInvalid, envelope.Type)
}
