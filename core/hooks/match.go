package hooks

import (
	"regexp"
	"slices"
	"strings"
)

// Subject is what an event is about, for matchers. For BeforeTool and AfterTool a
// matcher is a regular expression that is searched for in each of Names; one that
// is no expression is compared with them. For SessionStart, SessionEnd and
// PreCompress it is compared with Text. Hooks of all other events run in any
// case.
type Subject struct {
	Names []string // of the tool: its own, its aliases, those that govern it
	Text  string   // source, reason or trigger
}

// matches reports whether a matcher is for a subject.
func matches(e Event, matcher string, s Subject) bool {
	matcher = strings.TrimSpace(matcher)
	switch {
	case matcher == "" || matcher == "*":
		return true
	case e.OfTools():
		if re, err := regexp.Compile(matcher); err == nil {
			return slices.ContainsFunc(s.Names, re.MatchString)
		}
		return slices.Contains(s.Names, matcher)
	case e.matchesText():
		return matcher == s.Text
	}
	return true
}

// checkMatcher says why a matcher is no regular expression; nil where it is one,
// or stands for everything.
func checkMatcher(matcher string) error {
	if m := strings.TrimSpace(matcher); m == "" || m == "*" {
		return nil
	}
	_, err := regexp.Compile(strings.TrimSpace(matcher))
	return err
}
