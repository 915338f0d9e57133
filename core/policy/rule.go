package policy

import (
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/core/confirmation"
)

// Tier is the layer of a rule. A higher one takes precedence.
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

// alwaysAllowPriority is the priority of rules that remember an approval given as
// "always".
const alwaysAllowPriority = 950

// Rule is one rule of a policy. It applies if all its conditions are met; a zero
// condition is always met. A Rule must not be modified after it was passed to an
// engine. Its tags are the keys of policy files; its JSON is the output of
// `fettle policy list`.
type Rule struct {
	Name     string   `json:"name,omitempty"` // for display; "" means a short form of the rule
	Tools    []string `json:"toolName"`       // names or wildcards, at least one
	Decision Verdict  `json:"decision"`
	Priority int      `json:"-"` // 0 to 999, within the tier

	Server   string `json:"mcpName,omitempty"`  // MCP server, or "*" for any
	Subagent string `json:"subagent,omitempty"` // exact name of the calling subagent
	// ArgsPattern is a regular expression (RE2), searched in the arguments as JSON
	// with sorted keys, without blanks and HTML escapes, with numbers as JavaScript
	// prints them, and with each "key":value of the top level between NUL bytes. A
	// NUL inside a value is escaped, so that no value can imitate a key. Missing
	// arguments are {}. In calls of run_shell_command it is searched with the command
	// of each part of the line; for a rule that denies or asks also with the line,
	// and with each spelling of each part.
	ArgsPattern   string   `json:"argsPattern,omitempty"`
	CommandPrefix []string `json:"commandPrefix,omitempty"` // of run_shell_command: a part of the line has one of these prefixes
	// OtherCommands turns CommandPrefix into an exception: a rule that denies or
	// asks applies to all commands of run_shell_command without these prefixes. A
	// command that cannot be determined counts as one without.
	OtherCommands bool `json:"otherCommands,omitempty"`
	// CommandRegex is a regular expression (RE2) for run_shell_command, searched
	// from the start of a part; for a rule that denies or asks also from the
	// start of the line, and of each spelling of each part: without path,
	// wrappers and quotes.
	CommandRegex string         `json:"commandRegex,omitempty"`
	Annotations  map[string]any `json:"toolAnnotations,omitempty"` // each must be declared, and equal
	Effects      []string       `json:"effects,omitempty"`         // a rule that denies or asks applies to tools with one of these effects; one that allows, to tools with no others
	Modes        []ApprovalMode `json:"modes,omitempty"`           // empty: all; for a rule that allows, all but [ModePlan]
	Confined     *bool          `json:"confined,omitempty"`        // only confined commands, or only unconfined ones; see [Call].Confined
	Interactive  *bool          `json:"interactive,omitempty"`     // only with an approver, or only without one

	// Run states how an allowed command runs if the session can confine single
	// commands: [confirmation.RunConfined] or [confirmation.RunUnconfined]. "": confined if the rule comes
	// from a project or an extension, or requires Confined; otherwise unconfined.
	// Where nothing confines commands, a rule with RunConfined covers none.
	Run confirmation.Run `json:"run,omitempty"`

	AllowRedirection bool   `json:"allowRedirection,omitempty"` // a rule that allows a command also allows its redirections into the workspace
	DenyMessage      string `json:"denyMessage,omitempty"`      // sent to the model with a denial
	// TightensOnly prevents a rule that asks from overriding a lower one that
	// denies: both count, and the stricter applies. It is set for rules of a
	// source that may tighten and never loosen.
	TightensOnly bool `json:"-"`
	// Approval marks a rule that remembers an approval. It answers rules that
	// ask, and never overrides a written rule: a written rule that denies
	// applies, and so does a narrower one that asks. It is set for the rules that
	// [Engine.Narrow] returns and for the file of saved approvals.
	Approval bool `json:"-"`

	// Restricts ranks a rule that denies above all other rules, of every tier and in
	// every mode: no rule that allows overrides it. It is set for lists that
	// restrict the available tools, such as tools.core.
	Restricts bool `json:"restricts,omitempty"`

	Tier    Tier   `json:"-"`
	Session bool   `json:"session,omitempty"` // an approval that ends with the process
	Source  string `json:"source"`            // file, flag or table
	Line    int    `json:"line,omitempty"`    // 1-based; 0: not from a file
}

// condition is one of a rule's conditions that depend neither on the tool's name
// nor on the arguments.
type condition struct {
	given func(r *Rule) bool
	holds func(r *rule, c *Call) bool // if it is set
	short func(r *Rule) string        // the end of a short form
	words func(r *Rule) string        // the end of [Rule.Words]; nil: other code adds it
	apart bool                        // another part of a decision's reason names it
}

// conditions has a row for each of them, in the order of texts.
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
		holds: func(r *rule, c *Call) bool { return r.modes&modesOf(c.Mode) != 0 },
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
		given: func(r *Rule) bool { return r.Run != "" },
		holds: func(*rule, *Call) bool { return true }, // see [rule.runsAs]
		short: func(r *Rule) string {
			return either(r.Run == confirmation.RunConfined, " in the sandbox", " outside the sandbox")
		},
		words: func(r *Rule) string {
			return either(r.Run == confirmation.RunConfined, ", in the sandbox", ", outside the sandbox")
		},
	},
	{
		given: func(r *Rule) bool { return r.Interactive != nil },
		holds: func(r *rule, c *Call) bool { return *r.Interactive != c.Headless },
		short: func(r *Rule) string {
			return either(*r.Interactive, " with an approver", " without an approver")
		},
		words: func(r *Rule) string {
			return either(*r.Interactive, ", with an approver", ", without an approver")
		},
	},
}

func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// Checker is a safety check for calls that meet its conditions. They are the
// fields Tools, Server, ArgsPattern, CommandPrefix, CommandRegex, Annotations,
// Modes and Confined of the [Rule]; its Priority, Tier, Source and Line are those
// of the checker, and its other fields have no effect.
type Checker struct {
	Name     string // for example "allowed-path"
	External bool   // a program, not a built-in one
	Rule

	RequiredContext []string       // of "environment", "history"; nil: all
	Config          map[string]any // its own settings

	// About is the call to check if it differs from the decided one: a file that
	// a command line writes, as a call of write_file. It is set only in a
	// [Decision].
	About *Call
}

// conditions returns a rule without priority that denies the calls that require
// the checker.
func (c Checker) conditions() Rule {
	return Rule{
		Name: c.Name, Decision: Deny,
		Tools: c.Tools, Server: c.Server, ArgsPattern: c.ArgsPattern, CommandPrefix: c.CommandPrefix, CommandRegex: c.CommandRegex,
		Annotations: c.Annotations, Modes: c.Modes, Confined: c.Confined, Tier: c.Tier, Source: c.Source, Line: c.Line,
	}
}
