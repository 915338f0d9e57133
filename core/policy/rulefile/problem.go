package rulefile

import "github.com/fettle-dev/fettle/core/fault"

// The severities.
const (
	Error   = fault.SeverityError   // a file, rule, checker or test is not in force
	Warning = fault.SeverityWarning // it is, or it was left out on purpose; see the message
)

// Kind is the class of a [fault.Problem] here. Kinds are API: added, never renamed.
type Kind = fault.ProblemKind

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
