// Package approval words what a user is asked to approve, and the ways to answer,
// alike for every front end at a terminal.
package approval

import "github.com/fettle-dev/fettle/core/bus"

// Replies returns what there is to offer for outcomes, in their order; no is always
// the last of them. What is no outcome is left out.
func Replies(offered []bus.Outcome) []bus.OutcomeInfo {
	var replies []bus.OutcomeInfo
	for _, o := range offered {
		if r, known := o.Info(); known && o != bus.Cancel {
			replies = append(replies, r)
		}
	}
	no, _ := bus.Cancel.Info()
	return append(replies, no)
}
