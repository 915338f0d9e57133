package discovery

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// literal is a text that every match of a pattern contains, or one of several.
type literal struct {
	text []byte // lower case if fold
	fold bool   // the case of its letters, all ASCII, is ignored
	rare int    // index of the byte in text to search for first
}

const (
	maxLiterals = 8
	maxOfClass  = 4
)

// requiredLiterals returns texts of which every match contains at least one; nil if there are none,
// or they are too short or too many to be useful.
func requiredLiterals(re *syntax.Regexp) []literal {
	switch re.Op {
	case syntax.OpLiteral:
		return literalOf(re.Rune, re.Flags&syntax.FoldCase != 0)
	case syntax.OpCapture, syntax.OpPlus:
		return requiredLiterals(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return requiredLiterals(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []literal
		for i, sub := range re.Sub {
			l := requiredLiterals(sub)
			if i > 0 {
				if both := followed(re.Sub[i-1], sub); both != nil {
					l = both
				}
			}
			if shortest(l) > shortest(best) {
				best = l
			}
		}
		return best
	case syntax.OpAlternate:
		var all []literal
		for _, sub := range re.Sub {
			l := requiredLiterals(sub)
			if l == nil || len(all)+len(l) > maxLiterals {
				return nil
			}
			all = append(all, l...)
		}
		return all
	}
	return nil
}

// followed returns the texts of a literal followed by one of a few runes, as the parser produces
// for bar|baz; nil for other expressions.
func followed(text, class *syntax.Regexp) []literal {
	if text.Op != syntax.OpLiteral || class.Op != syntax.OpCharClass || text.Flags&syntax.FoldCase != 0 {
		return nil
	}
	var all []literal
	for i := 0; i < len(class.Rune); i += 2 {
		for r := class.Rune[i]; r <= class.Rune[i+1]; r++ {
			if len(all) == maxOfClass {
				return nil
			}
			all = append(all, literalOf(append(slices.Clone(text.Rune), r), false)...)
		}
	}
	return all
}

// literalOf returns the longest part of runes that can be searched for as bytes: if case is
// ignored, ASCII runes whose other cases are ASCII too.
func literalOf(runes []rune, fold bool) []literal {
	var best, part []byte
	for _, r := range runes {
		if r == utf8.RuneError || fold && !foldsInASCII(r) {
			part = nil
			continue
		}
		if fold {
			r = unicode.ToLower(r)
		}
		part = utf8.AppendRune(part, r)
		if len(part) > len(best) {
			best = part
		}
	}
	if len(best) == 0 {
		return nil
	}
	l := literal{text: bytes.Clone(best), fold: fold}
	for i, c := range l.text {
		if commonness(c) < commonness(l.text[l.rare]) {
			l.rare = i
		}
	}
	return []literal{l}
}

func foldsInASCII(r rune) bool {
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if f >= utf8.RuneSelf {
			return false
		}
	}
	return r < utf8.RuneSelf
}

func shortest(literals []literal) int {
	if len(literals) == 0 {
		return 0
	}
	n := len(literals[0].text)
	for _, l := range literals[1:] {
		n = min(n, len(l.text))
	}
	return n
}

// commonness orders bytes by their approximate frequency in source text.
func commonness(c byte) int {
	const byFrequency = "zqjxk_vwybgh.fpm,;-/:\"'=()du cl\tsonarit e" // the most common last
	return bytes.IndexByte([]byte(byFrequency), c)
}

// cursor finds literals in a byte slice, from beginning to end, in one pass for each literal.
type cursor struct {
	literals []literal
	data     []byte
	places   []int // next occurrence of each literal searched for; len(data): none
}

func newCursor(literals []literal, data []byte, from int) *cursor {
	c := &cursor{literals, data, make([]int, len(literals))}
	for i := range c.places {
		c.places[i] = from - 1
	}
	return c
}

// next returns the index of the first literal at or after from, which never decreases; -1 if there
// is none.
func (c *cursor) next(from int) int {
	best := len(c.data)
	for i := range c.literals {
		if c.places[i] < from {
			if at := c.literals[i].index(c.data[from:]); at >= 0 {
				c.places[i] = from + at
			} else {
				c.places[i] = len(c.data)
			}
		}
		best = min(best, c.places[i])
	}
	if best == len(c.data) {
		return -1
	}
	return best
}

func (l *literal) index(data []byte) int {
	if !l.fold {
		return l.indexExact(data)
	}
	lower := l.text[l.rare]
	upper := lower
	if 'a' <= lower && lower <= 'z' {
		upper = lower - 'a' + 'A'
	}
	for at := l.rare; ; at++ {
		if at = indexEither(data, lower, upper, at); at < 0 {
			return -1
		}
		start := at - l.rare
		if start+len(l.text) > len(data) {
			return -1
		}
		if l.equal(data[start : start+len(l.text)]) {
			return start
		}
	}
}

// indexExact searches for the rare byte, and for the whole text if that byte turns out to be
// common.
func (l *literal) indexExact(data []byte) int {
	for at, misses := l.rare, 0; at < len(data); misses++ {
		if misses > 4+at/64 {
			start := at - l.rare
			if i := bytes.Index(data[start:], l.text); i >= 0 {
				return start + i
			}
			return -1
		}
		i := bytes.IndexByte(data[at:], l.text[l.rare])
		if i < 0 {
			return -1
		}
		start := at + i - l.rare
		if bytes.HasPrefix(data[start:], l.text) {
			return start
		}
		at += i + 1
	}
	return -1
}

// indexEither returns the index of the first of two bytes at or after from; -1 if there is neither.
// It reads little more than the bytes before that.
func indexEither(data []byte, a, b byte, from int) int {
	const block = 1 << 10
	for ; from < len(data); from += block {
		part := data[from:min(from+block, len(data))]
		i := bytes.IndexByte(part, a)
		if i >= 0 {
			part = part[:i]
		}
		if j := bytes.IndexByte(part, b); j >= 0 {
			i = j
		}
		if i >= 0 {
			return from + i
		}
	}
	return -1
}

func (l *literal) equal(data []byte) bool {
	for i, c := range data {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != l.text[i] {
			return false
		}
	}
	return true
}
