package transcript

import (
	"bytes"
	"encoding/json"
	"time"
)

// formatVersion is that of the lines below. Keys are added to them and never
// renamed; what a reader of this version would misread raises it.
const formatVersion = 1

// Kind says whose conversation a session is.
type Kind string

// The kinds of a session.
const (
	KindMain     Kind = "main"
	KindSubagent Kind = "subagent"
)

// Header is what is known of a session when it begins: the first line of its
// file. ID is required.
type Header struct {
	ID          string    `json:"id"`
	Kind        Kind      `json:"kind"`                  // "" is written as main
	Parent      string    `json:"parent,omitempty"`      // the session that a subagent works for
	Project     string    `json:"project"`               // the project's directory
	Directories []string  `json:"directories,omitempty"` // further directories of the workspace
	StartTime   time.Time `json:"startTime"`             // zero is written as now
	Model       string    `json:"model,omitempty"`
}

// Turn is one turn of a conversation. This package looks into Content only for
// the role and the texts of its parts, as core/model writes them.
type Turn struct {
	ID      string          // "1" and so on, in the order of recording; never given twice in a session
	Time    time.Time       // zero is written as now
	Content json.RawMessage // required
	Model   string          // what answered; "" for a turn of the user's
	Usage   json.RawMessage // of its tokens; nil for none
	Calls   []ToolCall      // those that the turn answers
	// Highest is the highest version of a state object that the conversation
	// was given until then.
	Highest int64
}

// ToolCall records a call beside the turn that answers it: what people may
// want to see of it that the model did not.
type ToolCall struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Args     json.RawMessage `json:"args,omitempty"` // those that were decided on; nil if the call did not get that far
	Status   string          `json:"status"`
	Error    json.RawMessage `json:"error,omitempty"`    // type, message, remedy, reason
	Display  json.RawMessage `json:"display,omitempty"`  // as people were shown the result
	Decision json.RawMessage `json:"decision,omitempty"` // of policy
	Notices  []string        `json:"notices,omitempty"`
}

// Types of lines.
const (
	lineSession = "session" // Header; the first line
	lineTurn    = "turn"
	lineRewind  = "rewind"  // only the first keep turns are left
	lineReplace = "replace" // this is the history now
	lineTitle   = "title"
)

// headerLine is the first line of a file.
type headerLine struct {
	Type    string `json:"type"`
	Version int    `json:"version"` // of the format
	Header
}

// turnLine is a turn. Its place in the history stands beside it, so that a line
// that is lost moves no other.
type turnLine struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	At      int             `json:"at"` // 0-based place in the history
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

// encode returns v as one line, with its line break. It fails where a raw
// message is no JSON.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
