package policy

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// Programs returns the distinct programs that the call's command line runs, in
// order, for display. For a line that cannot be parsed it is the first word,
// whatever that is. It returns none without a Line.
func (c Call) Programs() []string {
	if c.Line == nil {
		return nil
	}
	var names []string
	for _, p := range c.Line.Parts {
		if p.Kind == shell.Command && len(p.Words) > 0 && !slices.Contains(names, p.Words[0].Text) {
			names = append(names, p.Words[0].Text)
		}
	}
	if words := strings.Fields(c.Line.Source); len(names) == 0 && c.Line.Problem != "" && len(words) > 0 {
		names = []string{strings.ToValidUTF8(short(words[0]), "\ufffd")}
	}
	return names
}
