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
	narration   narration // texts that came with the state working
	lastMessage string    // last message of the agent in the task's history
	data        string    // the last message, as JSON, if it had only data: what a task without words waits for
	message     string    // message of an agent that answers without a task
	done        bool      // no further event is expected
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
		a.narrateTask(e)
		news = a.status(e.Status)
		a.done = a.state.Terminal() || a.waits()
		return news, true
	case *a2a.TaskStatusUpdateEvent:
		a.request(e)
		if e.Status.State == a2a.TaskStateWorking {
			a.narration.add(e.Status.Message, e.Metadata, a.room())
		}
		news = a.status(e.Status)
		// A server may report a task as input-required while it goes on; only the final event ends the wait.
		a.done = a.state.Terminal() || e.Final && a.state != a2a.TaskStateWorking && a.state != a2a.TaskStateSubmitted
		return news, true
	case *a2a.TaskArtifactUpdateEvent:
		if e.Artifact == nil {
			return "", false
		}
		a.artifacts.update(e)
		return textOf(e.Artifact.Parts), true
	}
	return "", false
}

func (a *answer) status(s a2a.TaskStatus) string {
	a.state, a.statusText = s.State, ""
	if s.Message != nil {
		a.statusText = textOf(s.Message.Parts)
	}
	return a.statusText
}

// request keeps the data of a message that has no text and is no thought. Later text replaces it.
func (a *answer) request(e *a2a.TaskStatusUpdateEvent) {
	m := e.Status.Message
	if m == nil || kindOf(e.Metadata) == kindThought || kindOf(m.Metadata) == kindThought {
		return
	}
	a.data = ""
	if onlyData(m.Parts) {
		a.data = textOf(m.Parts)
	}
}

// waits reports whether the task is paused until it receives more input.
func (a *answer) waits() bool {
	return a.state == a2a.TaskStateInputRequired || a.state == a2a.TaskStateAuthRequired
}

// text returns the narration of the agent, its artifacts and its last status message, each once.
// Without any of them it returns its last message. A long narration is the last text, so that a cut
// does not remove the result.
func (a *answer) text() string {
	result := a.resultText()
	said := strings.TrimSpace(a.narration.text.String())
	switch {
	case said == "" || strings.Contains(result, said):
		if result == "" {
			return a.lastMessage
		}
		return result
	case result == "" || strings.HasSuffix(said, result):
		return said
	case len(said) > longNarration:
		return result + "\n\n" + said
	}
	return said + "\n\n" + result
}

// resultText returns the artifacts and the last status message.
func (a *answer) resultText() string {
	var texts []string
	for _, artifact := range a.artifacts.all {
		if text := artifact.text.String(); strings.TrimSpace(text) != "" {
			texts = append(texts, text)
		}
	}
	status := a.statusText
	switch {
	case a.state == a2a.TaskStateWorking:
		status = "" // the narration has it
	case status == "" && a.waits():
		status = a.data
	}
	for _, text := range []string{status, a.message} {
		if strings.TrimSpace(text) != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// room returns the bytes that the narration may still add.
func (a *answer) room() int {
	return max(0, maxAnswer-a.artifacts.kept-a.narration.text.Len())
}

// omitted returns the bytes of text above the limit.
func (a *answer) omitted() int { return a.artifacts.omitted + a.narration.omitted }

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

// onlyData reports whether a message consists of data.
func onlyData(parts a2a.ContentParts) bool {
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(p a2a.Part) bool { _, ok := p.(a2a.DataPart); return !ok })
}

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
