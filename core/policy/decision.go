package policy

// Verdict is what policy says about a call.
type Verdict string

// The verdicts (AR-25).
const (
	Allow   Verdict = "allow"    // run without asking
	Deny    Verdict = "deny"     // do not run
	AskUser Verdict = "ask_user" // run if a person approves
)

// Decision is a verdict with its explanation. Reason is never empty; Rule,
// Tier, Source and Line say where the verdict comes from and are empty where
// there is nothing to name.
type Decision struct {
	Decision Verdict `json:"decision"`
	Rule     string  `json:"rule,omitempty"`   // the rule as its author wrote or named it
	Tier     string  `json:"tier,omitempty"`   // the layer of rules that it belongs to
	Source   string  `json:"source,omitempty"` // file, flag or table that holds it
	Line     int     `json:"line,omitempty"`   // 1-based, in Source
	Reason   string  `json:"reason"`           // one sentence for a person
	Parts    []Part  `json:"parts,omitempty"`  // of a compound command, in order
}

// Part is the decision on one part of a compound call.
type Part struct {
	Text     string  `json:"text"` // the part, as written
	Decision Verdict `json:"decision"`
	Rule     string  `json:"rule,omitempty"`
	Reason   string  `json:"reason,omitempty"`
}
