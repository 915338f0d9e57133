package policy

import (
	"slices"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// Programs names the programs that the call's command line runs, each once, in
// order, for people. There are none without a Line.
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
	return names
}
