package policy

import (
	"encoding/json"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// Call is what a decision is about. Whoever makes it has resolved before what
// takes a look at the machine, so that deciding needs none.
type Call struct {
	Tool       string          // the tool's name
	Aliases    []string        // its other names; rules may use them
	GovernedBy []string        // names whose rules that deny or ask hold for the tool too; what allows does not
	Kind       string          // its kind, as "edit"
	Effects    []string        // what it may do to the world, as "network"
	Mutates    bool            // it changes something, whatever its kind says
	Params     json.RawMessage // the arguments as they will be executed

	Server      string         // the MCP server that the tool belongs to; "" for none, or if nobody knows
	ServerTool  string         // the tool's own name at that server
	Annotations map[string]any // what the tool's server declares about it; not verified

	Mode     ApprovalMode
	Subagent string // the calling subagent; "" is the main agent
	// Within are the subagents whose task Subagent is a part of, as they called it or
	// one that did. What restricts them restricts it: see [Rule].Restricts.
	Within   []string
	Headless bool // nobody can be asked
	// Confined is what confines the process that runs the call's command, as
	// "landlock"; "" is nothing. It is set for calls that run a command or
	// write to a process that one has started, and for no others.
	Confined string
	// Sealed says that what confines the command keeps it from writing protected
	// paths; see [ProtectedPaths]. Without it no rule of [Rule].Confined that allows
	// covers the command, but for one that remembers an approval.
	Sealed    bool
	Untrusted bool // the directory is recorded as untrusted
	// PlanOfStranger says that plan mode is in force because a project wants it
	// whose directory is not trusted, and not the person: then it lets no plan be
	// written without asking.
	PlanOfStranger bool

	Dir   string   // absolute directory that relative paths count from; "" if unknown
	Roots []string // absolute workspace directories
	// RealPaths tells where paths lead once links are followed, by absolute
	// cleaned path. [Engine.Paths] lists those that are looked up; one that is
	// missing leads where its text says.
	RealPaths map[string]string

	// Repositories says what speaks against the repository that git would use in a
	// directory, as a sentence: that the session has made or changed it. It is by
	// absolute cleaned path, of those that [Engine.GitDirs] lists; of one that is
	// missing or "" nothing does.
	Repositories map[string]string

	// Line is the command line taken apart, if that has been done already; nil
	// for others.
	Line *shell.Line
}
