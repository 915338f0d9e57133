package shell

import (
	"slices"
	"strings"
)

// suspect is a word that does something else than its part says if bash makes
// a certain text of it.
type suspect struct {
	sc     *scope
	index  int
	own    int
	word   arg
	bad    func(text string) bool
	reason string
}

// suspects notes a word that bash alone knows, to be judged once the whole line
// has been walked.
func (a *analysis) suspects(sc *scope, index, own int, w arg, bad func(string) bool, reason string) {
	if !w.Static && (!w.number || w.Pattern) {
		a.suspected = append(a.suspected, suspect{sc: sc, index: index, own: own, word: w, bad: bad, reason: reason})
	}
}

// checkSuspects adds a part for each of them that may hold what is bad.
func (a *analysis) checkSuspects() {
	for _, s := range a.suspected {
		if slices.ContainsFunc(s.word.values, s.bad) || a.mayHold(factsOf(s.word), s.bad, map[string]bool{}) {
			a.runs(s.sc, s.index, s.own, s.word.text(), s.reason)
		}
	}
}

// mayHold reports whether a value may hold a text that is bad.
func (a *analysis) mayHold(f facts, bad func(string) bool, seen map[string]bool) bool {
	if f.unknown || slices.ContainsFunc(f.texts, bad) {
		return true
	}
	for _, name := range f.reads {
		name = canonicalName(name)
		if seen[name] {
			continue
		}
		seen[name] = true
		if slices.Contains(bashSets, name) && !strings.HasSuffix(name, "PWD") {
			return true
		}
		if g := a.values[name]; g != nil && a.mayHold(*g, bad, seen) {
			return true
		}
	}
	return false
}

// isCutOff tells whether letters behind -n of wget take the host off the names
// of what is written.
func isCutOff(s string) bool { return strings.Contains(s, "H") }

// isCurlFormat tells whether a format of curl is read from a file, or writes
// one.
func isCurlFormat(s string) bool {
	return strings.HasPrefix(s, "@") || strings.Contains(strings.ToLower(s), "%output{")
}
