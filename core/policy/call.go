package policy

import (
	"encoding/json"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// Call describes a call to decide about. The caller has gathered all facts about
// the machine, so that deciding needs no I/O.
type Call struct {
	Tool       string          // the tool's name
	Aliases    []string        // its other names; rules may use them
	GovernedBy []string        // names whose deny and ask_user rules apply to the tool too; allow rules do not
	Kind       string          // its kind, for example "edit"
	Effects    []string        // its possible effects, for example "network"
	Mutates    bool            // it changes something, whatever its kind
	Params     json.RawMessage // the arguments as they will be executed
	Varies     []string        // arguments that may differ in the calls that a lasting approval covers; ignored for tools of MCP servers

	Server      string         // the tool's MCP server; "" for none, or if unknown
	ServerTool  string         // the tool's own name at that server
	Annotations map[string]any // declared by the tool's server; not verified

	Mode     ApprovalMode
	Subagent string // the calling subagent; "" is the main agent
	// Within are the subagents for which Subagent works, its direct and indirect
	// callers. Their restrictions apply to it: see [Rule].Restricts.
	Within   []string
	Headless bool // without an approver
	// Confined names the confinement of the process that runs the call's command,
	// for example "landlock"; "" is none. It is set only for calls that run a
	// command or write to a process started by one. For the latter it is the
	// confinement of that process.
	Confined string
	// Confinable names the mechanism that can confine a single command of the
	// session, "namespaces" or "landlock"; "" is none. [Decision].Run is the choice
	// for this call. It is set only for calls that run a command, and not together
	// with Confined.
	Confinable string
	// Sealed states that the confinement prevents the command from writing
	// protected paths; see [ProtectedPath]. Otherwise an allowing rule with
	// [Rule].Confined does not cover the command, unless it records an approval.
	Sealed    bool
	Untrusted bool // the directory is recorded as untrusted
	// PlanByUntrusted states that plan mode was requested by an untrusted project
	// and not by the user: then writing a plan requires approval.
	PlanByUntrusted bool

	Dir   string   // absolute directory that relative paths are resolved against; "" if unknown
	Roots []string // absolute workspace directories
	// RealPaths maps absolute cleaned paths to their targets with links resolved.
	// [Engine.Paths] lists the required ones; a missing path leads to itself.
	RealPaths map[string]string

	// Repositories maps absolute cleaned directories to the repository that git
	// would use there. [Engine.GitDirs] lists the required ones: with the facts
	// about those it may list more. A missing one is the zero value.
	Repositories map[string]Repository

	// Found maps the names of programs to the executable files that they lead to,
	// and absolute cleaned paths to their targets, with links resolved.
	// [Engine.Lookups] lists the required ones. A command with one that is missing
	// is not covered by the read-only table.
	Found map[string]string
	// Readable are absolute directories that read-only commands may read in
	// addition to Roots, such as the session's temporary directory.
	Readable []string

	placed placement // how the command is assumed to run

	// Line is the parsed command line of a shell call; nil: not parsed, or another
	// kind of call.
	Line *shell.Line
}

// Repository describes the git repository of a directory.
type Repository struct {
	// Objection is the reason, as a sentence, why git is not safe in it: the session
	// has created or changed it, or its configuration has a key that may make git
	// run a program. "": there is none.
	Objection string
	// Top is the top directory of the work tree, absolute, with links resolved; ""
	// if it is unknown or there is none.
	Top string
}
