package settings

import "github.com/fettle-dev/fettle/core/fault"

// The severities.
const (
	Error   = fault.SeverityError   // what was given is not in force
	Warning = fault.SeverityWarning // it is, or it was left out on purpose; see the message
	Notice  = fault.SeverityNotice  // nothing is wrong, but it has no effect here
)

// Kind is the class of a [fault.Problem] here. Kinds are API: added, never renamed.
type Kind = fault.ProblemKind

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
	KindUntrusted  Kind = "untrusted_project" // the project may not set this as long as its directory is not trusted
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
