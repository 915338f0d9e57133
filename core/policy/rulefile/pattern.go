package rulefile

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// maxPattern is the length of the longest pattern, in characters.
const maxPattern = 2048

// nested finds repetition of what repeats, which explodes in engines that
// backtrack. Go's do not, but a rule is to be read alike everywhere.
var nested = regexp.MustCompile(`\([^)]*[*+?{].*\)[*+?{]`)

// checkPattern says why a pattern cannot be used, or "".
func checkPattern(pattern string) (message, remedy string) {
	if n := utf8.RuneCountInString(pattern); n > maxPattern {
		return fmt.Sprintf("The pattern has %d characters, and %d are allowed.", n, maxPattern), "Write several rules."
	}
	if _, err := regexp.Compile(pattern); err != nil {
		return explainPattern(err)
	}
	if nested.MatchString(pattern) {
		return "The pattern repeats a group in which something repeats, which is refused as it can take for ever elsewhere.",
			"Write it without a repeated group that has *, +, ? or { in it."
	}
	return "", ""
}

func explainPattern(err error) (message, remedy string) {
	var e *syntax.Error
	if !errors.As(err, &e) {
		return "The pattern is no regular expression (" + err.Error() + ").", ""
	}
	expr := clip(e.Expr)
	switch {
	case strings.HasPrefix(e.Expr, "(?=") || strings.HasPrefix(e.Expr, "(?!") ||
		strings.HasPrefix(e.Expr, "(?<=") || strings.HasPrefix(e.Expr, "(?<!"):
		return fmt.Sprintf("The pattern looks ahead or behind (%s), which the regular expressions of policies (RE2) cannot.", expr),
			"Use two rules: one for what is to match, and one with a higher priority for the exception."
	case e.Code == syntax.ErrInvalidEscape && len(e.Expr) > 1 && e.Expr[1] >= '1' && e.Expr[1] <= '9':
		return fmt.Sprintf("The pattern refers back to a group (%s), which the regular expressions of policies (RE2) cannot.", expr),
			"Write out what is to match."
	}
	return fmt.Sprintf("The pattern is no regular expression (%s: %s).", e.Code, expr), "See https://golang.org/s/re2syntax."
}
