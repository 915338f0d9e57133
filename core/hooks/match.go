package hooks

import (
	"regexp"
	"slices"
	"strings"
)

// Subject is what an event is about, for matchers. For BeforeTool and AfterTool a
// matcher is a regular expression that is searched for in each of Names, or that is
// the whole of one of Elsewhere in any letter case; one that is no expression is
// compared with them. For SessionStart, SessionEnd and PreCompress it is a regular
// expression for the whole of Text, as startup|resume is. Hooks of all other events
// run in any case.
type Subject struct {
	Names     []string // of the tool: its own, its aliases, those that govern it
	Elsewhere []string // that other programs give to such a tool
	Text      string   // source, reason or trigger
}

// matcher is a matcher made ready for an event.
type matcher struct {
	text   string
	all    bool           // it is for everything
	search *regexp.Regexp // nil: the text is compared as it stands
	whole  *regexp.Regexp // for a whole text or name; nil: likewise
}

// newMatcher reads a matcher. The error says why it is no regular expression; the
// matcher can be used all the same.
func newMatcher(e Event, text string) (matcher, error) {
	m := matcher{text: strings.TrimSpace(text)}
	if m.all = m.text == "" || m.text == "*" || !e.OfTools() && !e.matchesText(); m.all {
		return m, nil
	}
	search, err := regexp.Compile(m.text)
	if err != nil {
		return m, err
	}
	flags := ""
	if e.OfTools() {
		flags = "(?i)"
	}
	whole, err := regexp.Compile(flags + "^(?:" + m.text + ")$")
	if err != nil { // it is too long by that
		return m, err
	}
	m.search, m.whole = search, whole
	return m, nil
}

// matches reports whether the matcher is for a subject of its event.
func (m matcher) matches(e Event, s Subject) bool {
	switch {
	case m.all:
		return true
	case !e.OfTools():
		return m.whole == nil && m.text == s.Text || m.whole != nil && m.whole.MatchString(s.Text)
	case m.search == nil:
		same := func(name string) bool { return strings.EqualFold(name, m.text) }
		return slices.Contains(s.Names, m.text) || slices.ContainsFunc(s.Elsewhere, same)
	}
	return slices.ContainsFunc(s.Names, m.search.MatchString) || slices.ContainsFunc(s.Elsewhere, m.whole.MatchString)
}
