package fault

import (
	"fmt"
	"strings"
)

// Severity is the effect of a [Problem].
type Severity string

// The severities. The empty Severity means SeverityWarning.
const (
	SeverityError   Severity = "error"   // the entry is not in force
	SeverityWarning Severity = "warning" // the entry is in force, or was left out on purpose; see the message
	SeverityNotice  Severity = "notice"  // nothing is wrong, but the entry has no effect here, or the note is for its author
)

// SeverityOf returns SeverityError if the entry is not in force, else SeverityWarning.
func SeverityOf(failed bool) Severity {
	if failed {
		return SeverityError
	}
	return SeverityWarning
}

// ProblemKind is the class of a [Problem]. Kinds are API: added, never renamed.
type ProblemKind string

// ProblemLayer is the settings layer that a [Problem] was found in.
type ProblemLayer string

// Problem is a problem in a configuration file, with its position: settings, policies, hooks, skills, agents, commands,
// extensions, recordings. Fields that do not apply are empty.
type Problem struct {
	Severity  Severity     `json:"severity,omitempty"`
	Path      string       `json:"path,omitempty"`      // path of the file or directory, or another source such as "the command line"
	Line      int          `json:"line,omitempty"`      // 1-based; 0: the whole file
	Column    int          `json:"column,omitempty"`    // 1-based, in bytes; 0: the whole line
	Layer     ProblemLayer `json:"layer,omitempty"`     // "": not a settings problem
	Extension string       `json:"extension,omitempty"` // name of the extension concerned
	Key       string       `json:"key,omitempty"`       // as "tools.core" or "priority"
	Kind      ProblemKind  `json:"kind,omitempty"`
	Expected  string       `json:"expected,omitempty"` // for an invalid value: the values that the key takes
	Nearest   string       `json:"nearest,omitempty"`  // for an unknown key: the known key that is most similar
	Open      bool         `json:"open,omitempty"`     // the entry that is not in force may have been a protection, and nothing replaces it
	Message   string       `json:"message"`            // the problem and its effect, in sentences
	Remedy    string       `json:"remedy,omitempty"`   // the next step, in sentences
}

// IsError reports whether the problem keeps its entry from being in force.
func (p Problem) IsError() bool { return p.Severity == SeverityError }

// String returns "PATH:LINE:COLUMN: KEY: message remedy" as one line. Empty fields are left out.
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
