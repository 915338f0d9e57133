package policy

import (
	"strings"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// ref is a rule with one of its command prefixes.
type ref struct {
	*rule
	prefix []string
	says   string       // what the rule does to commands that begin so, as a sentence
	words  []shell.Word // words further on in the command that the prefix may be about; nil: all of it
	forced bool         // it cannot be told whether the prefix matches
}

// shellIndex finds the rules that may be about a part of a command line.
type shellIndex struct {
	general   []*rule          // without command prefixes, but for those of patterns
	patterns  patternIndex     // of rules that tighten
	byProgram map[string][]ref // by the program that a prefix begins with, see [family]
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
			what := says(r, "commands that begin with "+abridged(strings.Join(prefix, " ")))
			ways := [][]string{prefix}
			if r.tightens {
				ways = append(ways, sameAs(prefix)...)
			}
			for _, way := range ways {
				name := family(way[0])
				x.byProgram[name] = append(x.byProgram[name], ref{rule: r, prefix: way, says: what})
			}
		}
	}
	return x
}

// programName is a program as rules that tighten know it: without its directory,
// in lower case and without .exe, since some systems find it by any of these.
func programName(word string) string {
	if i := strings.LastIndexAny(word, `/\`); i >= 0 {
		word = word[i+1:]
	}
	return strings.TrimSuffix(strings.ToLower(word), ".exe")
}

// fixed reports whether bash will use exactly the word's text.
func fixed(w shell.Word) bool { return w.Static && !w.Pattern }
