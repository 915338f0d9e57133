package policy

import (
	"strings"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// ref is a rule with one of its command prefixes.
type ref struct {
	*rule
	prefix []string
	effect string       // the rule's effect on commands with the prefix, as a sentence
	words  []shell.Word // later words of the command that the prefix may match; nil: the whole command
	forced bool         // whether the prefix matches is uncertain
}

// shellIndex finds the rules that may apply to a part of a command line.
type shellIndex struct {
	general   []*rule          // without command prefixes, except those with patterns
	patterns  patternIndex     // of rules that tighten
	byProgram map[string][]ref // by the first word of a prefix, see [family]
	tight     []*rule          // with command prefixes, that tighten
}

// newShellIndex indexes rules, which are in effective order.
func newShellIndex(rules []*rule) *shellIndex {
	x := &shellIndex{byProgram: make(map[string][]ref)}
	for _, r := range rules {
		if r.tightens && (r.args != nil || r.command != nil) {
			x.patterns.add(r)
			continue
		}
		if len(r.prefixes) == 0 || r.OtherCommands {
			x.general = append(x.general, r)
			continue
		}
		if r.tightens {
			x.tight = append(x.tight, r)
		}
		for _, prefix := range r.prefixes {
			what := effectOn(r, "commands that begin with "+abridged(strings.Join(prefix, " ")))
			ways := [][]string{prefix}
			if r.tightens {
				ways = append(ways, sameAs(prefix)...)
			}
			for _, way := range ways {
				name := family(way[0])
				x.byProgram[name] = append(x.byProgram[name], ref{rule: r, prefix: way, effect: what})
			}
		}
	}
	return x
}

// programName returns the form of a program's name that rules that tighten
// compare: without its directory, in lower case and without .exe, because some
// systems find it by any of these.
func programName(word string) string {
	if i := strings.LastIndexAny(word, `/\`); i >= 0 {
		word = word[i+1:]
	}
	return strings.TrimSuffix(strings.ToLower(word), ".exe")
}

// fixed reports whether bash will use exactly the word's text.
func fixed(w shell.Word) bool { return w.Static && !w.Pattern }
