package settings

import (
	"fmt"
	"strings"
)

// Severity says what a problem leaves in force.
type Severity string

// The severities.
const (
	Error   Severity = "error"   // what was given is not in force
	Warning Severity = "warning" // it is, or it was left out on purpose; see the message
	Notice  Severity = "notice"  // nothing is wrong, but it has no effect here
)

// Kind is the class of a [Problem]. Kinds are API: added, never renamed.
type Kind string

// The kinds.
const (
	KindFileRead   Kind = "file_read"         // the file cannot be read
	KindSyntax     Kind = "json_parse"        // it is no JSON; nothing of it is in force
	KindEmpty      Kind = "empty_file"        // the file holds nothing at all
	KindValue      Kind = "wrong_value"       // the key takes no such value
	KindConverted  Kind = "converted"         // the value was of another type and is read as one that the key takes
	KindUnknownKey Kind = "unknown_key"       // there is no such key
	KindUnused     Kind = "unused_key"        // nothing in fettle reads the key
	KindTwice      Kind = "given_twice"       // the key is given twice, perhaps by an older name
	KindUntrusted  Kind = "untrusted_project" // the project may not set this as long as its folder is not trusted
	KindProject    Kind = "project"           // no project may set this, trusted or not, or not now
	KindOutside    Kind = "outside_directory" // a project's directory lies outside of it, and its user has not approved of that
	KindUnusable   Kind = "unusable_value"    // the key takes such a value, but it cannot be used, here or at all
	KindUnknown    Kind = "unknown_tool"      // there is no tool of that name
	KindVariable   Kind = "variable"          // an environment file or variable was left out
	KindLater      Kind = "next_session"      // the value has changed while a session runs, and takes effect in the next one
	KindMore       Kind = "more_problems"     // there are so many that not all are told
)

// maxProblems is how many problems of one file and severity are told.
const maxProblems = 100

// Problem is one mistake in a layer, with its place.
type Problem struct {
	Source   string   `json:"source"`             // path of the file, "the variable NAME", or "the command line"
	Layer    Layer    `json:"layer"`              //
	Line     int      `json:"line,omitempty"`     // 1-based; 0: the source as a whole
	Column   int      `json:"column,omitempty"`   // 1-based, in bytes; 0 with line 0
	Key      string   `json:"key,omitempty"`      // as "tools.core"; "" if it is about no key; "tools.sandbox" of one of [Result.Unread] that holds the word sandbox
	Kind     Kind     `json:"kind"`               //
	Severity Severity `json:"severity"`           //
	Expected string   `json:"expected,omitempty"` // of a wrong value: what the key takes
	Nearest  string   `json:"nearest,omitempty"`  // of an unknown key: one that may be meant
	Open     bool     `json:"open,omitempty"`     // what is not in force may have been a protection, and nothing stands in for it
	Message  string   `json:"message"`            // what is wrong and what that leaves in force, in sentences
	Remedy   string   `json:"remedy,omitempty"`   // what to do; "" if there is nothing
}

// String returns "SOURCE:LINE:COLUMN: KEY: message remedy" as one line.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Source)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Message)
	if p.Remedy != "" {
		b.WriteString(" " + p.Remedy)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
