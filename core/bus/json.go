package bus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// message describes one of the package's messages.
type message struct {
	name   Type
	is     func(m Message) bool // m has this type, by value
	decode func(data []byte) (Message, error)
}

func row[M Message]() message {
	var zero M
	return message{
		name: zero.messageType(),
		is:   func(m Message) bool { _, ok := m.(M); return ok },
		decode: func(data []byte) (Message, error) {
			var m M
			if err := json.Unmarshal(data, &m); err != nil {
				return nil, fmt.Errorf("bus: unmarshal %s: %w", m.messageType(), err)
			}
			return m, nil
		},
	}
}

// TypeOf returns the type of m, which must not be nil.
func TypeOf(m Message) Type { return m.messageType() }

// known reports whether m is one of the package's messages, by value.
func known(m Message) bool {
	return slices.ContainsFunc(messages, func(row message) bool { return row.is(m) })
}

// Marshal encodes a message as one JSON object that begins with the message type under "type". HTML characters are not
// escaped, and bytes that are not UTF-8 become U+FFFD. Marshal fails with [ErrInvalid] if m is not a message of this
// package, and fails if a field holds invalid JSON.
func Marshal(m Message) ([]byte, error) {
	if !known(m) {
		return nil, fmt.Errorf("%w: %T is not a message type of this package; messages are passed by value", ErrInvalid, m)
	}
	b := bytes.NewBufferString(`{"type":"` + string(m.messageType()) + `",`)
	head := b.Len()
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(withLists(m)); err != nil {
		return nil, fmt.Errorf("bus: marshal %s: %w", m.messageType(), err)
	}
	// The encoded fields have their own brace, and the encoder ends with a line break.
	data := b.Bytes()
	return append(data[:head], data[head+1:len(data)-1]...), nil
}

// withLists returns m with empty lists instead of null for required list fields.
func withLists(m Message) Message {
	switch m := m.(type) {
	case ToolConfirmationRequest:
		m.Outcomes = present(m.Outcomes)
		m.Decision.Parts = present(m.Decision.Parts)
		if m.Details.ExecDetails != nil {
			exec := *m.Details.ExecDetails // shared with other subscribers
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

// Unmarshal decodes the form that [Marshal] writes. It ignores unknown fields, so that messages of newer versions can be
// read, and fails with [ErrInvalid] for an unknown type. It does not validate the message further: [MessageBus.Publish]
// does that.
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
