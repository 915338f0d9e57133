package rulefile

import "github.com/fettle-dev/fettle/core/fault"

// The severities.
const (
	Error   = fault.SeverityError   // a file, rule, checker or test is not in force
	Warning = fault.SeverityWarning // it is in force, or was ignored deliberately; see the message
)

// Kind is the class of a [fault.Problem] here. Kinds are API: added, never renamed.
type Kind = fault.ProblemKind

// The kinds.
const (
	KindFileRead   Kind = "file_read"          // the file cannot be read
	KindTOML       Kind = "toml_parse"         // a TOML syntax error; nothing in the file is in force
	KindSchema     Kind = "schema_validation"  // a key is missing, or its value is invalid
	KindRule       Kind = "rule_validation"    // keys that contradict each other or do not apply to the tool
	KindPattern    Kind = "regex_compilation"  // an invalid regular expression
	KindToolName   Kind = "tool_name_warning"  // no tool has this name, but a similar one exists
	KindUnknownKey Kind = "unknown_key"        // the key is unknown
	KindSpelling   Kind = "two_spellings"      // a key is given in two spellings
	KindIgnored    Kind = "ignored"            // the file may not contain such a rule
	KindMore       Kind = "more_problems"      // more problems than are reported
	KindInsecure   Kind = "insecure_directory" // writable for users other than the administrator
)
