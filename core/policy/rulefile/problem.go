package rulefile

import (
	"fmt"
	"strings"
)

// Severity says whether something that was written is not in force.
type Severity string

// The severities.
const (
	Error   Severity = "error"   // a file, rule, checker or test is not in force
	Warning Severity = "warning" // it is, or it was left out on purpose; see the message
)

// Kind is the class of a [Problem]. Kinds are API: added, never renamed.
type Kind string

// The kinds.
const (
	KindFileRead   Kind = "file_read"          // the file cannot be read
	KindTOML       Kind = "toml_parse"         // it is no TOML; nothing of it is in force
	KindSchema     Kind = "schema_validation"  // a key is missing, or its value is none that it can have
	KindRule       Kind = "rule_validation"    // keys that contradict each other or do not fit the tool
	KindPattern    Kind = "regex_compilation"  // a regular expression that cannot be used
	KindToolName   Kind = "tool_name_warning"  // no tool has such a name, and one has a similar one
	KindUnknownKey Kind = "unknown_key"        // nobody reads the key
	KindSpelling   Kind = "two_spellings"      // one key is given in both its spellings
	KindIgnored    Kind = "ignored"            // this file may not hold such a rule
	KindMore       Kind = "more_problems"      // there are so many that not all are told
	KindInsecure   Kind = "insecure_directory" // others than the administrator may write to it
)

// Problem is one mistake in a policy file, with its place.
type Problem struct {
	Path     string   `json:"path"`
	Line     int      `json:"line,omitempty"` // 1-based; 0: the file as a whole
	Key      string   `json:"key,omitempty"`  // as "priority" or "checker.name"; "" if it is about no key
	Kind     Kind     `json:"kind"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"` // what is wrong and what that leaves in force, in sentences
	Remedy   string   `json:"remedy,omitempty"`
}

// String returns "FILE:LINE: KEY: message remedy" as one line.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Path)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
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
