package compact

import "github.com/fettle-dev/fettle/core/model"

// splitAt returns the number of turns to summarize; 0 if nothing is worth a summary. The mark is the
// position after which about the share keep of the history's length remains. The result is the first
// of these positions that exists:
//
//   - the first user message after the mark
//   - the first model turn after the mark, whose calls are then answered after it, too
//   - the end of the history, if its last turn is the model's and has no call
//   - the last user message or model turn before the mark
func splitAt(history []model.Content, keep float64) int {
	lengths, total := make([]int, len(history)), 0
	for i, turn := range history {
		lengths[i] = tokens(turn)
		total += lengths[i]
	}
	mark := 0
	for passed := 0; mark < len(history) && float64(passed) < (1-keep)*float64(total); mark++ {
		passed += lengths[mark]
	}
	fits := func(i int) bool { return worth(history[:i]) }
	for i := mark; i < len(history); i++ {
		if isMessage(history[i]) && fits(i) {
			return i
		}
	}
	for i := mark; i < len(history); i++ {
		if history[i].Role == model.RoleModel && fits(i) {
			return i
		}
	}
	if n := len(history); n > 0 && history[n-1].Role == model.RoleModel && len(history[n-1].Calls()) == 0 && fits(n) {
		return n
	}
	for i := min(mark, len(history)) - 1; i > 0; i-- {
		if (isMessage(history[i]) || history[i].Role == model.RoleModel) && fits(i) {
			return i
		}
	}
	return 0
}

// isMessage reports whether a turn is a user message without tool results.
func isMessage(turn model.Content) bool {
	return turn.Role == model.RoleUser && len(turn.Responses()) == 0
}

// worth reports whether turns contain anything that is not in an earlier summary: a model turn.
func worth(older []model.Content) bool {
	for i, turn := range older {
		if turn.Role == model.RoleModel && !(i == 1 && turn.Text() == acknowledgement) {
			return true
		}
	}
	return false
}
