package agent

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/plaintext"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// The JSON forms of an [Event]. All but otherEvent are those of gemini-cli's stream-json.
type (
	eventHead struct {
		Type      string `json:"type"`
		Timestamp string `json:"timestamp,omitempty"`
	}
	messageEvent struct {
		eventHead
		Role    string `json:"role"`
		Content string `json:"content"`
		Delta   bool   `json:"delta,omitempty"`
	}
	toolUseEvent struct {
		eventHead
		Tool       string          `json:"tool_name"`
		ID         string          `json:"tool_id"`
		Parameters json.RawMessage `json:"parameters"`
	}
	toolResultEvent struct {
		eventHead
		ID      string     `json:"tool_id"`
		Status  string     `json:"status"`
		Preview bool       `json:"preview,omitempty"` // preview of a call in plan mode
		Output  string     `json:"output,omitempty"`
		Error   *wireError `json:"error,omitempty"`
		Context string     `json:"context,omitempty"` // context that hooks add for the model
		Notices []string   `json:"notices,omitempty"` // other facts, such as a change that cannot be undone
	}
	errorEvent struct {
		eventHead
		Severity string    `json:"severity"`
		Message  string    `json:"message"`
		Event    EventType `json:"event,omitempty"` // the type of the event that ends the prompt
		Code     string    `json:"code,omitempty"`  // of the error
		Tokens   int       `json:"tokens,omitempty"`
		Limit    int       `json:"limit,omitempty"`
	}
	otherEvent struct {
		eventHead
		Model      string             `json:"model,omitempty"`
		Content    string             `json:"content,omitempty"`
		Thought    *Thought           `json:"thought,omitempty"`
		Finish     model.FinishReason `json:"finish_reason,omitempty"`
		Usage      *model.Usage       `json:"usage,omitempty"`
		Attempt    int                `json:"attempt,omitempty"`
		WaitMS     int64              `json:"wait_ms,omitempty"`
		Compaction *Compaction        `json:"compaction,omitempty"`
		Error      *wireError         `json:"error,omitempty"`
	}
)

// wireError is an error as stream-json shows it.
type wireError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// The types of stream-json that differ from those of events, and the values of their fields.
const (
	wireMessage    = "message"
	wireToolUse    = "tool_use"
	wireToolResult = "tool_result"
	wireFailure    = "error"

	severityError   = "error"
	severityWarning = "warning"
	statusSuccess   = "success"
	statusError     = "error"
)

// timeFormat is that of timestamps: UTC with milliseconds.
const timeFormat = "2006-01-02T15:04:05.000Z"

// MarshalJSON encodes the event as an object of fettle's output format stream-json, and an event without a form there
// as an object whose type is the event's own. It encodes the fields that a host shows: a call with its arguments, and
// of a response the status, the displayed text, the error, the context and the notices.
func (e Event) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e.form()); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// form returns the JSON form of an event.
func (e Event) form() any {
	head := eventHead{Type: string(e.Type)}
	if !e.Time.IsZero() {
		head.Timestamp = e.Time.UTC().Format(timeFormat)
	}
	switch {
	case e.Type == EventText:
		head.Type = wireMessage
		return messageEvent{head, "assistant", e.Text, true}
	case e.Type == EventToolCall && e.Call != nil:
		head.Type = wireToolUse
		return toolUseEvent{head, e.Call.Name, e.Call.ID, e.Call.Object()}
	case e.Type == EventToolResponse && e.Call != nil && e.Response != nil:
		head.Type = wireToolResult
		return toolResultOf(head, e.Call.ID, e.Response)
	case e.Type == EventWarning, e.Type.Ends() && e.Err != nil:
		head.Type = wireFailure
		return errorOf(head, e)
	}
	other := otherEvent{eventHead: head, Content: e.Text, Thought: e.Thought, Finish: e.Finish, Compaction: e.Compaction, Error: wireErrorOf(e.Err)}
	switch {
	case e.Type == EventModel:
		other.Model, other.Content = e.Text, ""
	case e.Type == EventFinished:
		other.Usage = &e.Usage
	case e.Retry != nil:
		other.Attempt, other.WaitMS, other.Error = e.Retry.Attempt, e.Retry.Wait.Milliseconds(), wireErrorOf(e.Retry.Reason)
	}
	return other
}

func toolResultOf(head eventHead, id string, r *scheduler.Response) toolResultEvent {
	result := toolResultEvent{eventHead: head, ID: id, Status: statusSuccess, Preview: r.Preview, Output: r.Result.ReturnDisplay.Text,
		Error: wireErrorOf(r.Result.Error), Context: r.Result.Context, Notices: r.Notices}
	if ansi := r.Result.ReturnDisplay.ANSI; ansi != nil {
		result.Output = plaintext.Of(ansi.ANSI)
	}
	if result.Error != nil {
		result.Status = statusError
	}
	return result
}

// errorOf returns the form of a warning or of an error that ends the prompt.
func errorOf(head eventHead, e Event) errorEvent {
	out := errorEvent{eventHead: head, Severity: severityError, Message: e.Text, Event: e.Type, Tokens: e.Tokens, Limit: e.Limit}
	if e.Type == EventWarning {
		out.Severity, out.Event = severityWarning, ""
	}
	if e.Err != nil {
		out.Code = string(e.Err.Code)
		if e.Text == "" {
			out.Message = e.Err.Line()
		}
	}
	return out
}

func wireErrorOf(err *fault.Error) *wireError {
	if err == nil {
		return nil
	}
	return &wireError{string(err.Code), err.Line()}
}

func (w *wireError) fault() *fault.Error {
	if w == nil {
		return nil
	}
	return fault.New(fault.Code(w.Type), "", w.Message, "")
}

// UnmarshalJSON decodes the form of [Event.MarshalJSON]: encoding the result again yields the same JSON. An object that
// is no event, such as those of the types init and result, becomes an event of that type without further fields.
func (e *Event) UnmarshalJSON(data []byte) error {
	var head eventHead
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	*e = Event{Type: EventType(head.Type)}
	if head.Timestamp != "" {
		t, err := time.Parse(timeFormat, head.Timestamp)
		if err != nil {
			return err
		}
		e.Time = t
	}
	read, ok := eventReaders()[head.Type]
	if !ok {
		read = (*Event).readOther
	}
	return read(e, data)
}

// eventReaders returns the functions that read the forms of stream-json.
func eventReaders() map[string]func(*Event, []byte) error {
	return map[string]func(*Event, []byte) error{
		wireMessage: (*Event).readMessage, wireToolUse: (*Event).readToolUse, wireToolResult: (*Event).readToolResult, wireFailure: (*Event).readError,
	}
}

func (e *Event) readMessage(data []byte) error {
	var w messageEvent
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	if w.Role == "assistant" {
		e.Type = EventText
	}
	e.Text = w.Content
	return nil
}

func (e *Event) readToolUse(data []byte) error {
	var w toolUseEvent
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	e.Type, e.Call = EventToolCall, &model.FunctionCall{ID: w.ID, Name: w.Tool, Args: w.Parameters}
	return nil
}

func (e *Event) readToolResult(data []byte) error {
	var w toolResultEvent
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	e.Type, e.Call = EventToolResponse, &model.FunctionCall{ID: w.ID}
	e.Response = &scheduler.Response{Status: scheduler.StatusSuccess, Preview: w.Preview, Notices: w.Notices,
		Result: tools.Result{ReturnDisplay: tools.TextDisplay(w.Output), Context: w.Context, Error: w.Error.fault()}}
	if w.Status != statusSuccess {
		e.Response.Status = scheduler.StatusError
	}
	return nil
}

func (e *Event) readError(data []byte) error {
	var w errorEvent
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	e.Type, e.Tokens, e.Limit = EventError, w.Tokens, w.Limit
	switch {
	case w.Severity == severityWarning:
		e.Type, e.Text = EventWarning, w.Message
	case w.Event != "":
		e.Type = w.Event
	}
	if w.Code != "" || e.Type != EventWarning {
		e.Err = fault.New(fault.Code(w.Code), "", w.Message, "")
	}
	return nil
}

// readOther reads an event whose type is its own.
func (e *Event) readOther(data []byte) error {
	var w otherEvent
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	e.Text, e.Thought, e.Finish, e.Compaction, e.Err = w.Content, w.Thought, w.Finish, w.Compaction, w.Error.fault()
	switch e.Type {
	case EventModel:
		e.Text = w.Model
	case EventFinished:
		if w.Usage != nil {
			e.Usage = *w.Usage
		}
	case EventRetry:
		e.Retry = &RetryInfo{Attempt: w.Attempt, Wait: time.Duration(w.WaitMS) * time.Millisecond, Reason: e.Err}
		e.Err = nil
	}
	return nil
}
