package compact

import "github.com/fettle-dev/fettle/core/model"

// splitAt returns how many of the first turns a summary is to stand for, so that
// about the share keep of the history's length is left; 0 if nothing is worth a
// summary. In this order it takes: the first turn of the user's words behind the
// mark; the first answer of the model's behind it, whose calls are answered
// behind it too; all, where nothing is under way; the last turn of these before
// the mark. The result is len(history) for all.
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
		if words(history[i]) && fits(i) {
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
		if (words(history[i]) || history[i].Role == model.RoleModel) && fits(i) {
			return i
		}
	}
	return 0
}

// words reports whether a turn is what a person said: the user's, and no answer
// to a call.
func words(turn model.Content) bool {
	return turn.Role == model.RoleUser && len(turn.Responses()) == 0
}

// worth reports whether something happened in turns that is not in an earlier
// summary yet: an answer of the model's.
func worth(older []model.Content) bool {
	for i, turn := range older {
		if turn.Role == model.RoleModel && !(i == 1 && turn.Text() == acknowledgement) {
			return true
		}
	}
	return false
}
