package policy

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"

	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
)

// maxPattern is the maximum number of bytes of a rule's regular expression.
const maxPattern = 2048

// explosive matches a quantified group that contains a quantifier. RE2 takes
// linear time for any expression, but rules are shared with engines that do not.
var explosive = lazyregexp.New(`\([^)]*[*+?{].*\)[*+?{]`)

// compilePattern compiles a rule's regular expression. The error is a clause for
// the rule's author.
func compilePattern(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("it is %d bytes long; at most %d are read", len(pattern), maxPattern)
	}
	if explosive().MatchString(pattern) {
		return nil, errors.New("it nests repetitions, as in (a+)+, which makes other engines very slow")
	}
	re, err := regexp.Compile(pattern)
	if err == nil {
		return re, nil
	}
	for _, look := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
		if strings.Contains(pattern, look) {
			return nil, fmt.Errorf("it has the lookaround %s, which RE2 does not support; write a second rule of a higher priority instead", look)
		}
	}
	var cause *syntax.Error
	if errors.As(err, &cause) {
		if cause.Code == syntax.ErrInvalidEscape && len(cause.Expr) == 2 && cause.Expr[1] >= '1' && cause.Expr[1] <= '9' {
			return nil, fmt.Errorf("it has the back reference %s, which RE2 does not support", cause.Expr)
		}
		return nil, fmt.Errorf("it is not a valid regular expression: %s: %q", cause.Code, cause.Expr)
	}
	return nil, err
}

// traits are properties of a pattern that allow skipping a search.
type traits struct {
	machine  *machine
	must     string   // text contained in each match; "" if none is known
	lead     string   // text at the beginning of each match; "" if none is known
	musts    []string // texts with letters or digits contained in each match
	closed   bool     // it contains no other letters and digits
	names    []string // sequences of letters and digits contained in each match
	dashes   bool     // it may match options
	longs    []string // the long options that it contains
	pieces   []string // its literal texts, in lower case
	indexed  bool     // each match contains one of them
	escaping bool     // it may match the JSON syntax of the arguments
}

// longOption matches the long options in a pattern.
var longOption = lazyregexp.New(`--[a-z][a-z-]+`)

// traitsOf returns the traits of a valid pattern.
func traitsOf(pattern string) traits {
	l := traits{machine: newMachine(pattern), dashes: strings.Contains(pattern, "-"), longs: longOption().FindAllString(pattern, -1),
		escaping: strings.ContainsAny(pattern, `"`) || strings.Contains(pattern, `\\`) || strings.Contains(pattern, "x00")}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return l
	}
	parsed = parsed.Simplify()
	l.lead = leads(parsed)
	l.closed = spellsNoMore(parsed, true)
	for _, text := range mustHold(parsed) {
		if strings.ContainsFunc(text, isNamed) {
			l.musts = append(l.musts, text)
		}
		if len(text) > len(l.must) {
			l.must = text
		}
		l.names = append(l.names, strings.FieldsFunc(text, func(c rune) bool { return !isNamed(c) })...)
	}
	l.pieces, l.indexed = piecesOf(parsed)
	l.indexed = l.indexed && !strings.Contains(pattern, `\\`)
	return l
}

// mustHold returns texts contained in each match of an expression.
func mustHold(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return []string{string(re.Rune)}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return mustHold(re.Sub[0])
	case syntax.OpConcat:
		var all []string
		for _, sub := range re.Sub {
			all = append(all, mustHold(sub)...)
		}
		return all
	}
	return nil
}

func isNamed(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }

// spellsNoMore reports whether an expression contains no letters and digits but
// those that mustHold returns. held states that each match contains one of them.
func spellsNoMore(re *syntax.Regexp, held bool) bool {
	switch re.Op {
	case syntax.OpLiteral:
		return held && re.Flags&syntax.FoldCase == 0 || !slices.ContainsFunc(re.Rune, isNamed)
	case syntax.OpCharClass:
		n := 0
		for i := 0; i+1 < len(re.Rune); i += 2 {
			n += int(re.Rune[i+1]-re.Rune[i]) + 1
		}
		return n > 4 // see [isSpecific]
	case syntax.OpCapture, syntax.OpPlus, syntax.OpConcat:
	default:
		held = false
	}
	return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !spellsNoMore(sub, held) })
}

// touches reports whether the text between the holes may supply a letter or digit
// that the pattern contains; its machine finds nothing otherwise.
func (l *traits) touches(known []string) bool {
	if !l.closed {
		return true
	}
	return slices.ContainsFunc(l.musts, func(must string) bool {
		return slices.ContainsFunc(known, func(piece string) bool { return strings.Contains(piece, must) || completes(piece, must) })
	})
}

// completes reports whether the beginning or the end of a piece next to a hole is
// a part of must with a letter or digit.
func completes(piece, must string) bool {
	for i := range must {
		begins, ends := commonPrefix(piece, must[i:]), must[:i]
		if n := len(begins); (n == len(piece) || i+n == len(must)) && strings.ContainsFunc(begins, isNamed) ||
			strings.HasSuffix(piece, ends) && strings.ContainsFunc(ends, isNamed) {
			return true
		}
	}
	return false
}

func betweenHoles(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return holeOf(c) != nil })
}

func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// leads returns the text at the beginning of each match of an expression.
func leads(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return leads(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if sub.Op != syntax.OpBeginText {
				return leads(sub)
			}
		}
	}
	return ""
}
