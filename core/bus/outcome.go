package bus

import "slices"

// Outcome is the answer to a [ToolConfirmationRequest].
type Outcome string

// The outcomes. Each has a row in [Outcomes].
const (
	ProceedOnce          Outcome = "proceed_once"            // run this call
	ProceedAlways        Outcome = "proceed_always"          // and similar calls, while the session lasts
	ProceedAlwaysAndSave Outcome = "proceed_always_and_save" // and similar calls, in later sessions too
	ProceedAlwaysServer  Outcome = "proceed_always_server"   // and all calls to that MCP server, while the session lasts
	ProceedAlwaysTool    Outcome = "proceed_always_tool"     // and all calls of that tool, while the session lasts
	ModifyWithEditor     Outcome = "modify_with_editor"      // replace the proposed content with Payload.NewContent, then ask again
	Cancel               Outcome = "cancel"                  // do not run it
)

// OutcomeInfo describes how front ends offer an [Outcome], and the rules it stores.
type OutcomeInfo struct {
	Outcome Outcome
	Key     string // typed at a terminal
	Word    string // accepted instead of Key where whole lines are typed
	Label   string // shown at a terminal, with the key in brackets
	// Name is the answer in a form. For an outcome that stores rules it is their policy.Scope.
	Name  string
	Means string // the effect of the answer, in a form; the stored rules follow. "": forms do not offer it
	// Until is how long the stored rules apply, in words; "": the outcome stores none.
	Until string
	Kept  bool // the rules apply in later sessions too
}

const (
	whileSession = "run this call, and while this session lasts"
	untilEnd     = "until this session ends"
)

// Outcomes returns all outcomes in the order to offer them. Cancel is last.
func Outcomes() []OutcomeInfo {
	return []OutcomeInfo{
		{Outcome: ProceedOnce, Key: "y", Word: "yes", Label: "[y]es once", Name: "once", Means: "run this call"},
		{Outcome: ProceedAlways, Key: "a", Word: "always", Label: "[a]lways this session", Name: "session", Means: whileSession, Until: untilEnd},
		{Outcome: ProceedAlwaysAndSave, Key: "s", Word: "save", Label: "[s]ave always", Name: "saved", Until: "from now on, kept in your policy file", Kept: true},
		{Outcome: ProceedAlwaysTool, Key: "t", Word: "tool", Label: "[t]ool always", Name: "tool", Means: whileSession, Until: untilEnd},
		{Outcome: ProceedAlwaysServer, Key: "v", Word: "server", Label: "ser[v]er always", Name: "server", Means: whileSession, Until: untilEnd},
		{Outcome: ModifyWithEditor, Key: "e", Word: "edit", Label: "[e]dit", Name: "edit"},
		{Outcome: Cancel, Key: "n", Word: "no", Label: "[n]o", Name: "no", Means: "do not run it"},
	}
}

// Info returns the row of o in [Outcomes], and false if o is not an outcome.
func (o Outcome) Info() (OutcomeInfo, bool) {
	all := Outcomes()
	i := slices.IndexFunc(all, func(r OutcomeInfo) bool { return r.Outcome == o })
	if i < 0 {
		return OutcomeInfo{}, false
	}
	return all[i], true
}

// Stores returns a description of each rule that the answer o to m would store; nil: none.
func (m ToolConfirmationRequest) Stores(o Outcome) []string {
	for _, r := range m.Remembers {
		if r.Outcome == o {
			return r.Rules
		}
	}
	return nil
}

// Lasting returns how long a stored rule applies, as the end of a sentence.
func (m UpdatePolicy) Lasting() string {
	if m.Persist {
		return "kept for later sessions"
	}
	return untilEnd
}
