// Package approval formats approval requests and the possible answers, in the same
// words for every front end at a terminal.
package approval

import "github.com/fettle-dev/fettle/core/bus"

// Replies returns the answers to offer for outcomes, in their order with no last.
// Unknown outcomes are omitted.
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
