// Package approval words what a person is asked to approve, and the ways to answer,
// alike for every front end at a terminal.
package approval

import (
	"slices"

	"github.com/fettle-dev/fettle/core/bus"
)

// Reply is one way to answer a confirmation.
type Reply struct {
	Outcome bus.Outcome
	Key     string // what is typed
	Word    string // may be typed instead, where lines are typed
	Label   string // what it says; the key stands in brackets in it
}

// Until says how long the rules hold that the reply puts in force; "" for one that
// holds for this call alone.
func (r Reply) Until() string {
	switch r.Outcome {
	case bus.ProceedAlways, bus.ProceedAlwaysTool, bus.ProceedAlwaysServer:
		return "until this session ends"
	case bus.ProceedAlwaysAndSave:
		return "from now on, kept in your policy file"
	}
	return ""
}

func all() []Reply {
	return []Reply{
		{bus.ProceedOnce, "y", "yes", "[y]es once"},
		{bus.ProceedAlways, "a", "always", "[a]lways this session"},
		{bus.ProceedAlwaysAndSave, "s", "save", "[s]ave always"},
		{bus.ProceedAlwaysTool, "t", "tool", "[t]ool always"},
		{bus.ProceedAlwaysServer, "v", "server", "ser[v]er always"},
		{bus.ModifyWithEditor, "e", "edit", "[e]dit"},
		{bus.Cancel, "n", "no", "[n]o"},
	}
}

// Replies returns the replies for the outcomes that are offered, in their order; no
// is always the last of them. Outcomes without a key are left out.
func Replies(offered []bus.Outcome) []Reply {
	known := all()
	var replies []Reply
	for _, o := range offered {
		i := slices.IndexFunc(known, func(r Reply) bool { return r.Outcome == o })
		if i >= 0 && o != bus.Cancel {
			replies = append(replies, known[i])
		}
	}
	return append(replies, known[len(known)-1])
}
