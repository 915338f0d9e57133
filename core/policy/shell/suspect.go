package shell

import (
	"slices"
	"strings"
)

// suspect is a word that changes the effect of its part if it expands to certain
// texts.
type suspect struct {
	sc     *scope
	index  int
	own    int
	word   arg
	bad    func(text string) bool
	reason string
}

// suspects records a word that only bash can expand, to be checked once the whole
// line has been walked.
func (a *analysis) suspects(sc *scope, index, own int, w arg, bad func(string) bool, reason string) {
	if !w.Static && (!w.number || w.Pattern) {
		a.suspected = append(a.suspected, suspect{sc: sc, index: index, own: own, word: w, bad: bad, reason: reason})
	}
}

// checkSuspects adds a part for each of them that may contain such a text.
func (a *analysis) checkSuspects() {
	for _, s := range a.suspected {
		if slices.ContainsFunc(s.word.values, s.bad) || a.mayHold(factsOf(s.word), s.bad, map[string]bool{}) {
			a.runs(s.sc, s.index, s.own, s.word.text(), s.reason)
		}
	}
}

// mayHold reports whether a value may contain a text that bad reports.
func (a *analysis) mayHold(f facts, bad func(string) bool, seen map[string]bool) bool {
	if f.unknown || f.start.isOther() || slices.ContainsFunc(f.texts, bad) {
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

// isCutOff reports whether letters after -n of wget omit the host in the names of
// written files.
func isCutOff(s string) bool { return strings.Contains(s, "H") }

// isCurlFormat reports whether a format of curl is read from a file, or writes
// one.
func isCurlFormat(s string) bool {
	return strings.HasPrefix(s, "@") || strings.Contains(strings.ToLower(s), "%output{")
}
