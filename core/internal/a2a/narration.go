package a2a

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/a2a"
)

// longNarration is the size in bytes from which a narration follows the result.
const longNarration = 16 << 10

// narration is the text of an agent while its task is in the state working. Some servers stream
// their whole answer there, in pieces that may split words.
type narration struct {
	text    strings.Builder
	id      string // of the last message
	last    string // text of the last message
	omitted int    // bytes of text above the limit
}

// add adds the text parts of a message, at most room bytes. Data parts, such as thoughts and the
// states of tools, are not part of an answer. metadata is that of the event of the message.
func (n *narration) add(m *a2a.Message, metadata map[string]any, room int) {
	if m == nil {
		return
	}
	text := spoken(m.Parts)
	kind := kindOf(metadata)
	if text == "" || kind == kindThought || kindOf(m.Metadata) == kindThought {
		return
	}
	var between string
	if !n.continues(m, kind, text) {
		between = "\n"
	}
	n.id, n.last = m.ID, text
	fits := min(len(between+text), room)
	n.text.WriteString((between + text)[:fits])
	n.omitted += len(between+text) - fits
}

// continues reports whether a text is a piece of the same message as the text before it.
func (n *narration) continues(m *a2a.Message, kind, text string) bool {
	if n.text.Len() == 0 || m.ID != "" && m.ID == n.id || kind == kindText {
		return true
	}
	before, _ := utf8.DecodeLastRuneInString(n.last)
	first, _ := utf8.DecodeRuneInString(text)
	return unicode.IsSpace(before) || unicode.IsSpace(first)
}

// has reports whether a message is the last one that was added.
func (n *narration) has(m *a2a.Message) bool {
	return m != nil && n.text.Len() > 0 && m.ID == n.id && spoken(m.Parts) == n.last
}

// narrateTask takes the narration from a task: the messages of the agent in the history since the
// last message of the user, and the current one. A server may store fewer messages than it has
// sent; then the narration remains.
func (a *answer) narrateTask(t *a2a.Task) {
	history := sinceUser(t.History)
	if t.Status.State == a2a.TaskStateWorking {
		if len(history) == 0 && !a.narration.has(t.Status.Message) {
			a.narration.add(t.Status.Message, t.Metadata, a.room())
		}
		history = append(history, t.Status.Message)
	}
	var fresh narration
	room := max(0, maxAnswer-a.artifacts.kept)
	for _, m := range history {
		if !fresh.has(m) {
			fresh.add(m, nil, room-fresh.text.Len())
		}
	}
	if fresh.text.Len() > a.narration.text.Len() {
		a.narration = fresh
	}
}

// sinceUser returns the messages of the agent after the last message of the user; none if the
// history has no message of the user, because it may then contain answers to earlier messages.
func sinceUser(history []*a2a.Message) []*a2a.Message {
	for i, m := range slices.Backward(history) {
		if m != nil && m.Role == a2a.MessageRoleUser {
			return slices.Clone(history[i+1:])
		}
	}
	return nil
}

// spoken returns the text parts without a separator.
func spoken(parts a2a.ContentParts) string {
	var b strings.Builder
	for _, p := range parts {
		if p, ok := p.(a2a.TextPart); ok {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// The kinds of messages that the server of gemini-cli names in their metadata.
const (
	kindText    = "text-content"
	kindThought = "thought"
)

// kindOf returns the kind of a message; "" if its metadata names none.
func kindOf(metadata map[string]any) string {
	agent, _ := metadata["coderAgent"].(map[string]any)
	kind, _ := agent["kind"].(string)
	return kind
}
