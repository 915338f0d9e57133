package settings

import "github.com/fettle-dev/fettle/core/fault"

// The severities.
const (
	Error   = fault.SeverityError   // the value has no effect
	Warning = fault.SeverityWarning // the value has an effect, or was ignored on purpose; see the message
	Notice  = fault.SeverityNotice  // the value is correct but has no effect here
)

// Kind is the class of a [fault.Problem] in settings. Kinds are API: added, never
// renamed.
type Kind = fault.ProblemKind

// The kinds.
const (
	KindFileRead   Kind = "file_read"         // the file cannot be read
	KindSyntax     Kind = "json_parse"        // it is not JSON; its values are ignored
	KindEmpty      Kind = "empty_file"        // the file is empty
	KindValue      Kind = "wrong_value"       // the key does not accept the value
	KindConverted  Kind = "converted"         // the value was of another type and has been converted
	KindUnknownKey Kind = "unknown_key"       // the key does not exist
	KindUnused     Kind = "unused_key"        // fettle does not read the key
	KindTwice      Kind = "given_twice"       // the key is set twice, possibly by an older name
	KindUntrusted  Kind = "untrusted_project" // a project may not set this unless its directory is trusted
	KindProject    Kind = "project"           // no project may set this, trusted or not, or not under the current settings
	KindOutside    Kind = "outside_directory" // a project's directory lies outside of it, and the user has not approved it
	KindUnusable   Kind = "unusable_value"    // the value is valid but cannot be used, here or at all
	KindUnknown    Kind = "unknown_tool"      // no tool has this name
	KindVariable   Kind = "variable"          // an environment file or variable was ignored
	KindLater      Kind = "next_session"      // the value has changed during a session and takes effect in the next one
	KindMore       Kind = "more_problems"     // further problems are not listed
)

// maxProblems is the maximum number of reported problems per file and severity.
const maxProblems = 100
