package bus

import "slices"

// Outcome is the answer to a [ToolConfirmationRequest].
type Outcome string

// The outcomes. Each has a row in [Outcomes].
const (
	ProceedOnce          Outcome = "proceed_once"            // run this call
	ProceedAlways        Outcome = "proceed_always"          // and its like, while the session lasts
	ProceedAlwaysAndSave Outcome = "proceed_always_and_save" // and its like, in later sessions too
	ProceedAlwaysServer  Outcome = "proceed_always_server"   // and all of that MCP server, while the session lasts
	ProceedAlwaysTool    Outcome = "proceed_always_tool"     // and all calls of that tool, while the session lasts
	ModifyWithEditor     Outcome = "modify_with_editor"      // put Payload.NewContent in place of the proposed content, then ask again
	Cancel               Outcome = "cancel"                  // do not run it
)

// OutcomeInfo is what front ends offer an [Outcome] by, and what it stores.
type OutcomeInfo struct {
	Outcome Outcome
	Key     string // what is typed at a terminal
	Word    string // may be typed instead, where lines are typed
	Label   string // what a terminal shows; the key stands in brackets in it
	// Name is the answer in a form. Of an outcome that stores rules it is the scope of
	// these, as a policy.Scope.
	Name  string
	Means string // what the answer does, in a form; what it stores follows. "": no form offers it
	// Until says how long the rules hold that the answer stores; "": it stores none.
	Until string
	Kept  bool // the rules hold in later sessions too
}

const (
	whileSession = "run this call, and while this session lasts"
	untilEnd     = "until this session ends"
)

// Outcomes returns all outcomes in the order to offer them. Cancel is the last.
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

// Info returns the row of o in [Outcomes], or false for what is no outcome.
func (o Outcome) Info() (OutcomeInfo, bool) {
	all := Outcomes()
	i := slices.IndexFunc(all, func(r OutcomeInfo) bool { return r.Outcome == o })
	if i < 0 {
		return OutcomeInfo{}, false
	}
	return all[i], true
}

// Valid reports whether o is one of the outcomes above.
func (o Outcome) Valid() bool {
	_, ok := o.Info()
	return ok
}

// Stores returns all rules that the answer o to m would store, in words; nil: none.
func (m ToolConfirmationRequest) Stores(o Outcome) []string {
	for _, r := range m.Remembers {
		if r.Outcome == o {
			return r.Rules
		}
	}
	return nil
}

// Lasting says of rules that have been stored how long they hold, as the end of a
// sentence.
func (m UpdatePolicy) Lasting() string {
	if m.Persist {
		return "kept for later sessions"
	}
	return untilEnd
}
