package fault

import (
	"fmt"
	"strings"
)

// Severity says what a [Problem] leaves in force.
type Severity string

// The severities. "" is that of a warning.
const (
	SeverityError   Severity = "error"   // what it is about is not in force
	SeverityWarning Severity = "warning" // it is, or it was left out on purpose; see the message
	SeverityNotice  Severity = "notice"  // nothing is wrong, but it has no effect here, or is for an author
)

// SeverityOf returns the severity of what is lost, or else of what is there all the same.
func SeverityOf(lost bool) Severity {
	if lost {
		return SeverityError
	}
	return SeverityWarning
}

// ProblemKind is the class of a [Problem]. Kinds are API: added, never renamed.
type ProblemKind string

// ProblemLayer is the layer of settings that a [Problem] is in.
type ProblemLayer string

// Problem is something wrong in what is read from files, with its place: settings,
// policies, hooks, skills, agents, commands, extensions, recordings. Fields that do not
// apply are empty.
type Problem struct {
	Severity  Severity     `json:"severity,omitempty"`
	Path      string       `json:"path,omitempty"`      // of the file or directory; else what holds it, as "the command line"
	Line      int          `json:"line,omitempty"`      // 1-based; 0: the whole of it
	Column    int          `json:"column,omitempty"`    // 1-based, in bytes; 0: the whole line
	Layer     ProblemLayer `json:"layer,omitempty"`     // "": not of settings
	Extension string       `json:"extension,omitempty"` // name of the extension that it is about
	Key       string       `json:"key,omitempty"`       // as "tools.core" or "priority"
	Kind      ProblemKind  `json:"kind,omitempty"`
	Expected  string       `json:"expected,omitempty"` // of a wrong value: what the key takes
	Nearest   string       `json:"nearest,omitempty"`  // of an unknown key: one that may be meant
	Open      bool         `json:"open,omitempty"`     // what is not in force may have been a protection, and nothing stands in for it
	Message   string       `json:"message"`            // what is wrong and what that leaves in force, in sentences
	Remedy    string       `json:"remedy,omitempty"`   // what to do, in sentences
}

// Lost reports whether what the problem is about is not there because of it.
func (p Problem) Lost() bool { return p.Severity == SeverityError }

// String returns "PATH:LINE:COLUMN: KEY: message remedy" as one line, without what is
// not known.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Path)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
		if p.Column > 0 {
			fmt.Fprintf(&b, ":%d", p.Column)
		}
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString((&Error{Message: p.Message, Remedy: p.Remedy}).Text())
	return strings.Join(strings.Fields(b.String()), " ")
}
