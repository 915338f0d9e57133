package policy

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
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
	musts    []string // texts with letters or digits that each match holds
	closed   bool     // it spells no letters and digits but those
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

func isNamed(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }

// spellsNoMore reports whether an expression spells no letters and digits but those
// that mustHold returns. held says that each match holds one of it.
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

// touches reports whether the pieces between the holes of a text may give a letter or
// digit of what the pattern spells, without which its machine finds nothing.
func (l *traits) touches(known []string) bool {
	if !l.closed {
		return true
	}
	return slices.ContainsFunc(l.musts, func(must string) bool {
		return slices.ContainsFunc(known, func(piece string) bool { return strings.Contains(piece, must) || completes(piece, must) })
	})
}

// completes reports whether the beginning or the end of a piece that stands beside a
// hole is a part of must that has a letter or digit.
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
