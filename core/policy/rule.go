package policy

import (
	"fmt"
	"slices"
)

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
// holds always. A Rule is not changed once an engine has it. Its tags name the keys
// of policy files; as JSON it has what `fettle policy list` prints of it.
type Rule struct {
	Name     string   `json:"name,omitempty"` // for people; "" means a short form of the rule
	Tools    []string `json:"toolName"`       // names or wildcards, at least one
	Decision Verdict  `json:"decision"`
	Priority int      `json:"-"` // 0 to 999, within the tier

	Server   string `json:"mcpName,omitempty"`  // MCP server, or "*" for any
	Subagent string `json:"subagent,omitempty"` // exact name of the calling subagent
	// ArgsPattern is a regular expression (RE2), searched in [CanonicalArgs]. In calls
	// of run_shell_command the command there is that of each part of the line; for a
	// rule that denies or asks it is also the line, and each spelling of each part.
	ArgsPattern   string   `json:"argsPattern,omitempty"`
	CommandPrefix []string `json:"commandPrefix,omitempty"` // of run_shell_command: a part of the line begins with one of these
	// OtherCommands makes CommandPrefix an exception: a rule that denies or asks is
	// about all commands of run_shell_command but those that begin so. A command of
	// which it is not known what it runs is one of the others.
	OtherCommands bool `json:"otherCommands,omitempty"`
	// CommandRegex is a regular expression (RE2) for run_shell_command, searched from
	// the start of a part; for a rule that denies or asks also from the start of the
	// line, and of each spelling of each part: without path, wrappers and quotes.
	CommandRegex string         `json:"commandRegex,omitempty"`
	Annotations  map[string]any `json:"toolAnnotations,omitempty"` // each must be declared, and equal
	Effects      []string       `json:"effects,omitempty"`         // one that denies or asks: the tool may do one of these; one that allows: nothing else
	Modes        []ApprovalMode `json:"modes,omitempty"`           // empty: all, of a rule that allows all but [ModePlan]
	Confined     *bool          `json:"confined,omitempty"`        // only commands that run confined, or only those that do not; see [Call].Confined
	Interactive  *bool          `json:"interactive,omitempty"`     // only where somebody can be asked, or only where nobody can

	AllowRedirection bool   `json:"allowRedirection,omitempty"` // what allows a command allows its redirections into the workspace too
	DenyMessage      string `json:"denyMessage,omitempty"`      // told to the model with a denial
	// TightensOnly keeps a rule that asks from standing in front of a lower one
	// that denies: both count, and the stricter holds. It is set where rules
	// come from somebody who may tighten and never loosen (CF-09).
	TightensOnly bool `json:"-"`
	// Approval marks a rule that remembers somebody's answer to a question. It
	// answers what asks, and never stands in front of what somebody wrote: a
	// written rule that denies holds, and so does a narrower one that asks
	// (AR-27). It is set for what [Engine.Narrow] returns and for the file that
	// approvals are saved to.
	Approval bool `json:"-"`

	// Restricts puts a rule that denies before every rule of another kind, whatever
	// the tier and the mode: nothing that allows lifts it. It is set for lists that
	// restrict which tools there are, as tools.core.
	Restricts bool `json:"restricts,omitempty"`

	Tier    Tier   `json:"-"`
	Session bool   `json:"session,omitempty"` // an approval that ends with the process
	Source  string `json:"source"`            // file, flag or table
	Line    int    `json:"line,omitempty"`    // 1-based; 0: not from a file
}

// condition is one of a rule's conditions that look neither at the tool's name nor
// at the arguments.
type condition struct {
	given func(r *Rule) bool
	holds func(r *rule, c *Call) bool // where it is given
	short func(r *Rule) string        // the end of a short form
	words func(r *Rule) string        // the end of [Rule.Words]; nil: it stands elsewhere
	apart bool                        // a decision's reason names it elsewhere
}

// conditions has a row for each of them, in the order in which texts name them.
var conditions = []condition{
	{
		given: func(r *Rule) bool { return r.Effects != nil },
		holds: (*rule).effects,
		short: func(r *Rule) string { return either(len(r.Effects) > 0, " that may "+few(r.Effects, ", "), "") },
		words: func(r *Rule) string {
			verb := either(r.Decision == Allow, "do nothing but ", "may ")
			return either(len(r.Effects) > 0, ", of tools that "+verb+listed(r.Effects, "or"), "")
		},
		apart: true,
	},
	{
		given: func(r *Rule) bool { return len(r.Annotations) > 0 },
		holds: func(r *rule, c *Call) bool { return declares(c.Annotations, r.Annotations) },
		short: func(r *Rule) string { return " declared as " + few(pairs(r.Annotations), ", ") },
		words: func(r *Rule) string { return ", declared as " + listed(pairs(r.Annotations), "and") },
		apart: true,
	},
	{
		given: func(r *Rule) bool { return r.Subagent != "" },
		holds: func(r *rule, c *Call) bool {
			return r.Subagent == c.Subagent || r.Restricts && slices.Contains(c.Within, r.Subagent)
		},
		short: func(r *Rule) string { return " for " + short(r.Subagent) },
		words: func(r *Rule) string { return ", for the subagent " + plainly(r.Subagent) },
		apart: true,
	},
	{
		given: func(r *Rule) bool { return len(r.Modes) > 0 },
		holds: func(r *rule, c *Call) bool { return r.modes&modeBit(c.Mode) != 0 },
		short: func(r *Rule) string { return " in " + modeNames(r.Modes) },
		apart: true,
	},
	{
		given: func(r *Rule) bool { return r.Confined != nil },
		holds: func(r *rule, c *Call) bool { return *r.Confined == (c.Confined != "") && !r.open(c) },
		short: func(r *Rule) string { return either(*r.Confined, " if confined", " if not confined") },
		words: func(r *Rule) string { return either(*r.Confined, ", run confined", ", not run confined") },
	},
	{
		given: func(r *Rule) bool { return r.Interactive != nil },
		holds: func(r *rule, c *Call) bool { return *r.Interactive != c.Headless },
		short: func(r *Rule) string {
			return either(*r.Interactive, " where somebody can be asked", " where nobody can be asked")
		},
		words: func(r *Rule) string {
			return either(*r.Interactive, ", where a user can be asked", ", where no user can be asked")
		},
	},
}

func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
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

// CheckerFor returns a checker without a name that is due for what a rule is about.
func CheckerFor(r Rule) Checker {
	return Checker{
		Tools: r.Tools, Server: r.Server, ArgsPattern: r.ArgsPattern, CommandPrefix: r.CommandPrefix, CommandRegex: r.CommandRegex,
		Annotations: r.Annotations, Modes: r.Modes, Confined: r.Confined, Priority: r.Priority, Tier: r.Tier, Source: r.Source, Line: r.Line,
	}
}

// Rule returns the rule without priority that denies what the checker is due for.
func (c Checker) Rule() Rule {
	return Rule{
		Name: c.Name, Decision: Deny,
		Tools: c.Tools, Server: c.Server, ArgsPattern: c.ArgsPattern, CommandPrefix: c.CommandPrefix, CommandRegex: c.CommandRegex,
		Annotations: c.Annotations, Modes: c.Modes, Confined: c.Confined, Tier: c.Tier, Source: c.Source, Line: c.Line,
	}
}
