package a2a

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/a2a"
)

// answer is the state of a response while its events arrive.
type answer struct {
	taskID      string
	contextID   string
	state       a2a.TaskState // "": there is no task
	statusText  string        // message that came with the state
	artifacts   artifacts
	lastMessage string // last message of the agent in the task's history
	message     string // message of an agent that answers without a task
	done        bool   // no further event is expected
}

// take adds one event and returns its text for progress. ok is false if the event is invalid.
func (a *answer) take(raw json.RawMessage) (news string, ok bool) {
	event, err := a2a.UnmarshalEventJSON(raw)
	if err != nil {
		return "", false
	}
	info := event.TaskInfo()
	if info.TaskID != "" {
		a.taskID = string(info.TaskID)
	}
	if info.ContextID != "" {
		a.contextID = info.ContextID
	}
	switch e := event.(type) {
	case *a2a.Message:
		a.message, a.done = textOf(e.Parts), true
		return a.message, true
	case *a2a.Task:
		a.artifacts = artifacts{}
		for _, artifact := range e.Artifacts {
			if artifact != nil {
				a.artifacts.add(artifact)
			}
		}
		a.lastMessage = lastOf(e.History)
		return a.status(e.Status, false), true
	case *a2a.TaskStatusUpdateEvent:
		return a.status(e.Status, e.Final), true
	case *a2a.TaskArtifactUpdateEvent:
		if e.Artifact == nil {
			return "", false
		}
		a.artifacts.update(e)
		return textOf(e.Artifact.Parts), true
	}
	return "", false
}

func (a *answer) status(s a2a.TaskStatus, final bool) string {
	a.state, a.statusText = s.State, ""
	if s.Message != nil {
		a.statusText = textOf(s.Message.Parts)
	}
	a.done = a.state.Terminal() || a.waits() || final && a.state != a2a.TaskStateWorking && a.state != a2a.TaskStateSubmitted
	return a.statusText
}

// waits reports whether the task is paused until it receives more input.
func (a *answer) waits() bool {
	return a.state == a2a.TaskStateInputRequired || a.state == a2a.TaskStateAuthRequired
}

// text returns the artifacts of the agent and its last status message. Without either it returns
// its last message.
func (a *answer) text() string {
	var texts []string
	for _, artifact := range a.artifacts.all {
		if text := artifact.text.String(); strings.TrimSpace(text) != "" {
			texts = append(texts, text)
		}
	}
	for _, text := range []string{a.statusText, a.message} {
		if strings.TrimSpace(text) != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return a.lastMessage
	}
	return strings.Join(texts, "\n\n")
}

// lastOf returns the text of the agent's last message that has text.
func lastOf(history []*a2a.Message) string {
	for _, m := range slices.Backward(history) {
		if m != nil && m.Role == a2a.MessageRoleAgent {
			if text := textOf(m.Parts); text != "" {
				return text
			}
		}
	}
	return ""
}

// textOf returns the text of parts, one paragraph each.
func textOf(parts a2a.ContentParts) string { return strings.TrimSpace(partText(parts, "\n")) }

// joined returns the text of an artifact. Its parts may split words.
func joined(parts a2a.ContentParts) string { return partText(parts, "") }

func partText(parts a2a.ContentParts, between string) string {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteString(between)
		}
		switch p := p.(type) {
		case a2a.TextPart:
			b.WriteString(p.Text)
		case a2a.DataPart:
			if text, err := json.Marshal(p.Data); err == nil {
				b.Write(text)
			}
		case a2a.FilePart:
			b.WriteString(fileText(p))
		}
	}
	return b.String()
}

// fileText describes a file, whose bytes are useless to a model.
func fileText(p a2a.FilePart) string {
	switch f := p.File.(type) {
	case a2a.FileURI:
		return fmt.Sprintf("[file %s %s: %s]", f.Name, f.MimeType, f.URI)
	case a2a.FileBytes:
		return fmt.Sprintf("[file %s %s: %d bytes, not shown]", f.Name, f.MimeType, len(f.Bytes)/4*3)
	}
	return "[file]"
}
