package policy

import "fmt"

// Tier is the layer that a rule belongs to. A higher one wins.
type Tier int

// The tiers. Session rules are approvals of this process; they count as the
// workspace tier at priority 950.
const (
	TierDefault   Tier = 1
	TierExtension Tier = 2
	TierWorkspace Tier = 3
	TierUser      Tier = 4
	TierAdmin     Tier = 5
)

// String returns the tier's name.
func (t Tier) String() string {
	switch t {
	case TierDefault:
		return "default"
	case TierExtension:
		return "extension"
	case TierWorkspace:
		return "workspace"
	case TierUser:
		return "user"
	case TierAdmin:
		return "admin"
	}
	return fmt.Sprintf("tier %d", int(t))
}

// AlwaysAllowPriority is the priority of rules that come from a person's
// "always".
const AlwaysAllowPriority = 950

// Rule is one rule of a policy. All its conditions must hold; a zero condition
// holds always. A Rule is not changed once an engine has it.
type Rule struct {
	Name     string   // for people; "" means a short form of the rule
	Tools    []string // names or wildcards, at least one
	Decision Verdict
	Priority int // 0 to 999, within the tier

	Server   string // MCP server, or "*" for any
	Subagent string // exact name of the calling subagent
	// ArgsPattern is a regular expression (RE2), searched in [CanonicalArgs]. In calls
	// of run_shell_command the command there is that of each part of the line; for a
	// rule that denies or asks it is also the line, and each spelling of each part.
	ArgsPattern   string
	CommandPrefix []string // of run_shell_command: a part of the line begins with one of these
	// OtherCommands makes CommandPrefix an exception: a rule that denies or asks is
	// about all commands of run_shell_command but those that begin so. A command of
	// which it is not known what it runs is one of the others.
	OtherCommands bool
	// CommandRegex is a regular expression (RE2) for run_shell_command, searched from
	// the start of a part; for a rule that denies or asks also from the start of the
	// line, and of each spelling of each part: without path, wrappers and quotes.
	CommandRegex     string
	Annotations      map[string]any // each must be declared, and equal
	Modes            []ApprovalMode // empty: all, of a rule that allows all but [ModePlan]
	Interactive      *bool          // only where somebody can be asked, or only where nobody can
	Confined         *bool          // only commands that run confined, or only those that do not; see [Call].Confined
	Effects          []string       // one that denies or asks: the tool may do one of these; one that allows: nothing else
	AllowRedirection bool           // what allows a command allows its redirections into the workspace too
	DenyMessage      string         // told to the model with a denial
	// TightensOnly keeps a rule that asks from standing in front of a lower one
	// that denies: both count, and the stricter holds. It is set where rules
	// come from somebody who may tighten and never loosen (CF-09).
	TightensOnly bool
	// Approval marks a rule that remembers somebody's answer to a question. It
	// answers what asks, and never stands in front of what somebody wrote: a
	// written rule that denies holds, and so does a narrower one that asks
	// (AR-27). It is set for what [Engine.Narrow] returns and for the file that
	// approvals are saved to.
	Approval bool

	// Restricts puts a rule that denies before every rule of another kind, whatever
	// the tier and the mode: nothing that allows lifts it. It is set for lists that
	// restrict which tools there are, as tools.core.
	Restricts bool

	Tier    Tier
	Session bool   // an approval that ends with the process
	Source  string // file, flag or table
	Line    int    // 1-based; 0: not from a file
}

// Checker is a safety check that is due for calls that its conditions match.
// They are those of a [Rule].
type Checker struct {
	Name     string // as "allowed-path"
	External bool   // a program, not one that is built in

	Tools         []string
	Server        string
	ArgsPattern   string
	CommandPrefix []string
	CommandRegex  string
	Annotations   map[string]any
	Modes         []ApprovalMode
	Confined      *bool
	Priority      int

	RequiredContext []string       // of "environment", "history"; nil: all
	Config          map[string]any // its own settings

	// About is what is to be checked where that is not the call that was
	// decided about: a file that a command line writes, as a call of write_file.
	// It is set in a [Decision] alone.
	About *Call

	Tier   Tier
	Source string
	Line   int
}
