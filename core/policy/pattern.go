package policy

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
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

// traits are what is known of a pattern before it is searched.
type traits struct {
	machine  *machine
	must     string   // text that each match holds; "" if none is known
	lead     string   // text that each match begins with; "" if none is known
	names    []string // letters and digits in a row that each match holds
	dashes   bool     // it speaks of options
	longs    []string // the long options that it spells
	pieces   []string // what it spells, in small letters
	indexed  bool     // each match holds one of them
	escaping bool     // it may speak of the arguments' JSON
}

// longOption finds the long options that a pattern spells.
var longOption = regexp.MustCompile(`--[a-z][a-z-]+`)

// traitsOf returns those of a pattern that compiles.
func traitsOf(pattern string) traits {
	l := traits{machine: newMachine(pattern), dashes: strings.Contains(pattern, "-"), longs: longOption.FindAllString(pattern, -1),
		escaping: strings.ContainsAny(pattern, `"`) || strings.Contains(pattern, `\\`) || strings.Contains(pattern, "x00")}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return l
	}
	parsed = parsed.Simplify()
	l.lead = leads(parsed)
	for _, text := range mustHold(parsed) {
		if len(text) > len(l.must) {
			l.must = text
		}
		l.names = append(l.names, strings.FieldsFunc(text, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })...)
	}
	l.pieces, l.indexed = piecesOf(parsed)
	l.indexed = l.indexed && !strings.Contains(pattern, `\\`)
	return l
}

// mustHold returns texts that each match of an expression holds.
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

// leads returns the text that each match of an expression begins with.
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
