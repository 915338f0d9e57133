package transcript

import (
	"bytes"
	"encoding/json"
	"time"
)

// formatVersion is the version of the line formats below. Keys may be added but not renamed. A
// change that a reader of this version would misread increments it.
const formatVersion = 1

// Kind is the kind of agent in a session.
type Kind string

// The kinds of sessions.
const (
	KindMain     Kind = "main"
	KindSubagent Kind = "subagent"
)

// Header is the first line of a recording: the data of a session known at its beginning. ID is
// required.
type Header struct {
	ID          string    `json:"id"`
	Kind        Kind      `json:"kind"`                  // "" is recorded as main
	Parent      string    `json:"parent,omitempty"`      // for a subagent: the session of its caller
	Project     string    `json:"project"`               // the project's directory
	Directories []string  `json:"directories,omitempty"` // additional directories of the workspace
	StartTime   time.Time `json:"startTime"`             // zero is recorded as the current time
	Model       string    `json:"model,omitempty"`
}

// Turn is one turn of a conversation. Of Content this package reads only the role and the texts of
// the parts, in the format of core/model.
type Turn struct {
	ID      string          // "1" and so on, in the order of recording; unique in a session
	Time    time.Time       // zero is recorded as the current time
	Content json.RawMessage // required
	Model   string          // the model that responded; "" for a user turn
	Usage   json.RawMessage // token usage; nil for none
	Calls   []ToolCall      // the calls that the turn responds to
	// Highest is the highest version of a state object that the conversation had received by then.
	Highest int64
}

// ToolCall records a call next to the turn with its result: details for users that the model did
// not receive.
type ToolCall struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Args     json.RawMessage `json:"args,omitempty"` // as decided by policy; nil if the call was not decided
	Status   string          `json:"status"`
	Error    json.RawMessage `json:"error,omitempty"`    // type, message, remedy, reason
	Display  json.RawMessage `json:"display,omitempty"`  // the result as displayed to users
	Decision json.RawMessage `json:"decision,omitempty"` // the policy decision
	Notices  []string        `json:"notices,omitempty"`
}

// Types of lines.
const (
	lineSession = "session" // Header; the first line
	lineTurn    = "turn"
	lineRewind  = "rewind"  // only the first keep turns remain
	lineReplace = "replace" // a new history
	lineTitle   = "title"
)

// headerLine is the first line of a file.
type headerLine struct {
	Type    string `json:"type"`
	Version int    `json:"version"` // of the format
	Header
}

// turnLine is the line of a turn. It contains its position in the history, so that an unreadable
// line moves no other turn.
type turnLine struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	At      int             `json:"at"` // 0-based position in the history
	Time    time.Time       `json:"time"`
	Content json.RawMessage `json:"content"`
	Model   string          `json:"model,omitempty"`
	Usage   json.RawMessage `json:"usage,omitempty"`
	Calls   []ToolCall      `json:"calls,omitempty"`
	Highest int64           `json:"highestVersion"`
}

type rewindLine struct {
	Type    string    `json:"type"`
	Time    time.Time `json:"time"`
	Keep    int       `json:"keep"`
	Highest int64     `json:"highestVersion"`
}

type replaceLine struct {
	Type    string            `json:"type"`
	Time    time.Time         `json:"time"`
	History []json.RawMessage `json:"history"`
	Highest int64             `json:"highestVersion"`
}

type titleLine struct {
	Type  string    `json:"type"`
	Time  time.Time `json:"time"`
	Title string    `json:"title"`
}

// encode returns v as one line with its line break. It fails if a raw message is not JSON.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
