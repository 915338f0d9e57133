package policy

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// maxPattern bounds a rule's regular expression, in bytes.
const maxPattern = 2048

// explosive finds a quantified group with a quantifier inside. Our regular
// expressions take time linear in the text whatever they are; rules are
// shared with engines where such a one does not.
var explosive = regexp.MustCompile(`\([^)]*[*+?{].*\)[*+?{]`)

// compilePattern compiles a rule's regular expression. The error is a clause
// for the rule's author.
func compilePattern(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("it is %d bytes long; at most %d are read", len(pattern), maxPattern)
	}
	if explosive.MatchString(pattern) {
		return nil, errors.New("it repeats a group that repeats something itself, as in (a+)+, which other engines take forever to search")
	}
	re, err := regexp.Compile(pattern)
	if err == nil {
		return re, nil
	}
	for _, look := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
		if strings.Contains(pattern, look) {
			return nil, fmt.Errorf("it looks ahead or behind with %s, which RE2 does not know; write a second rule of a higher priority instead", look)
		}
	}
	var cause *syntax.Error
	if errors.As(err, &cause) {
		if cause.Code == syntax.ErrInvalidEscape && len(cause.Expr) == 2 && cause.Expr[1] >= '1' && cause.Expr[1] <= '9' {
			return nil, fmt.Errorf("it refers back to a group with %s, which RE2 does not know", cause.Expr)
		}
		return nil, fmt.Errorf("it is no regular expression: %s: %q", cause.Code, cause.Expr)
	}
	return nil, err
}
