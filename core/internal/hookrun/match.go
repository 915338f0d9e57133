package hookrun

import (
	"regexp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
)

// Subject is the subject of an event, with which matchers are compared. For BeforeTool
// and AfterTool a matcher is a regular expression that is searched in each of Names, or
// equals one of Elsewhere in any letter case; an invalid expression is compared
// literally. For SessionStart, SessionEnd and PreCompress it is a regular expression for
// the whole of Text, as startup|resume. Hooks of all other events always run.
type Subject struct {
	Names     []string // of the tool: its own, its aliases, and the names in rules that cover it
	Elsewhere []string // of equivalent tools in other programs
	Text      string   // source, reason or trigger
}

// matcher is a compiled matcher of an event.
type matcher struct {
	text   string
	all    bool           // it matches every subject
	search *regexp.Regexp // nil: the text is compared literally
	whole  *regexp.Regexp // for a whole text or name; nil: literally
}

// newMatcher compiles a matcher. The error describes an invalid regular expression; the
// matcher is valid all the same and compares literally.
func newMatcher(e hooks.Event, text string) (matcher, error) {
	m := matcher{text: strings.TrimSpace(text)}
	if m.all = m.text == "" || m.text == "*" || !OfTools(e) && !matchesText(e); m.all {
		return m, nil
	}
	search, err := regexp.Compile(m.text)
	if err != nil {
		return m, err
	}
	flags := ""
	if OfTools(e) {
		flags = "(?i)"
	}
	whole, err := regexp.Compile(flags + "^(?:" + m.text + ")$")
	if err != nil { // the expression becomes too long
		return m, err
	}
	m.search, m.whole = search, whole
	return m, nil
}

// matches reports whether the matcher matches a subject of its event.
func (m matcher) matches(e hooks.Event, s Subject) bool {
	switch {
	case m.all:
		return true
	case !OfTools(e):
		return m.whole == nil && m.text == s.Text || m.whole != nil && m.whole.MatchString(s.Text)
	case m.search == nil:
		same := func(name string) bool { return strings.EqualFold(name, m.text) }
		return slices.Contains(s.Names, m.text) || slices.ContainsFunc(s.Elsewhere, same)
	}
	return slices.ContainsFunc(s.Names, m.search.MatchString) || slices.ContainsFunc(s.Elsewhere, m.whole.MatchString)
}

// unmatched reports the words of a matcher that match no known tool and resemble one.
// Other words may be tools of servers, or of the host.
func (r *reader) unmatched(e hooks.Event, text string, line int) {
	if !OfTools(e) || len(r.Tools) == 0 {
		return
	}
	for word := range strings.SplitSeq(text, "|") {
		word = strings.Trim(word, " ^$()")
		like := nearest(word, r.Tools)
		if like == "" || !toolWord().MatchString(word) {
			continue
		}
		if m, err := newMatcher(e, word); err == nil && !m.matches(e, Subject{Names: r.Tools, Elsewhere: r.Tools}) {
			r.note(fault.SeverityWarning, line, "%.80q in the matcher of %s matches no known tool. Did you mean %s?", word, e, like)
		}
	}
}

// toolWord matches a word of a matcher without a pattern.
var toolWord = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_-]*$`)
