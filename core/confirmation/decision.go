package confirmation

// Verdict is the policy's verdict about a call.
type Verdict string

// The verdicts.
const (
	Allow   Verdict = "allow"    // run without approval
	Deny    Verdict = "deny"     // do not run
	AskUser Verdict = "ask_user" // run if an approver approves
)

// Run is how a command runs in a session that can confine single commands.
type Run string

// The ways to run. The zero value leaves it to the session.
const (
	RunConfined   Run = "confined"      // may write in the workspace and its temporary directory
	RunRead       Run = "confined_read" // may write in its temporary directory only
	RunUnconfined Run = "unconfined"
)

// Explanation is a verdict with its reason and origin. Rule, Tier, Source and
// Line identify the origin and are zero without one; other fields that do not
// apply are empty.
type Explanation struct {
	Decision Verdict `json:"decision"`           // allow, deny or ask_user
	Rule     string  `json:"rule"`               // the rule as its author named it, or in short form
	Tier     string  `json:"tier"`               // default, extension, workspace, session, user or admin
	Source   string  `json:"source"`             // file, flag or table that contains the rule
	Line     int     `json:"line"`               // 1-based, in Source; 0: not in a file
	Reason   string  `json:"reason"`             // for the user: what in the call matched, or why nothing did
	Remedy   string  `json:"remedy,omitempty"`   // a change that would lead to another verdict
	Message  string  `json:"message,omitempty"`  // the denying rule's denyMessage, for the model
	Confined string  `json:"confined,omitempty"` // the confinement of the call's command, such as "landlock"; "": none
	Run      Run     `json:"run,omitempty"`      // how the command runs once it is allowed or approved; "": as the session runs all commands
	Previews bool    `json:"preview,omitempty"`  // plan mode shows the call instead of running it; the verdict is ask_user
	Parts    []Part  `json:"parts"`              // of a command line, in order; empty for other calls
}

// Part is the decision on one part of a command line.
type Part struct {
	Text     string  `json:"text"` // the part, as bash will run it
	Decision Verdict `json:"decision"`
	Rule     string  `json:"rule,omitempty"`
	Tier     string  `json:"tier,omitempty"`
	Source   string  `json:"source,omitempty"`
	Line     int     `json:"line,omitempty"`
	Reason   string  `json:"reason,omitempty"`
}
