package redact

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// span is a range of a text: [begin, end).
type span struct{ begin, end int }

// rule finds the secret that one of its hints announces; the hint is between start and end. An
// empty span means no secret. read is the offset before which no further match of this rule begins;
// 0: unknown.
type rule struct {
	hints []string // in lower case; match both cases
	exact bool     // hints match only as written
	match func(s string, start, end int) (found span, read int)
}

// scanner finds the hints of all rules in one pass over a text. It is immutable.
type scanner struct {
	rules   []rule
	class   [256]uint8 // equivalence classes of bytes; both cases of a letter share a class
	classes int
	next    []uint32  // by state and class; states are multiples of the number of classes
	out     [][]found // by state
}

// found is a hint that ends in a state.
type found struct {
	rule int
	hint string
}

// scan is compiled at first use, since most runs of a program do not need it.
var scan = sync.OnceValue(func() *scanner { return newScanner(rules()) })

// newScanner builds the Aho-Corasick automaton of the rules' hints.
func newScanner(rules []rule) *scanner {
	z := &scanner{rules: rules, classes: 1}
	for _, r := range rules {
		for _, h := range r.hints {
			for _, c := range []byte(strings.ToLower(h)) {
				if z.class[c] == 0 {
					z.class[c] = uint8(z.classes) //nolint:gosec // fewer than bytes
					z.classes++
				}
			}
		}
	}
	for c := byte('a'); c <= 'z'; c++ {
		z.class[c-'a'+'A'] = z.class[c]
	}
	// While it is built, next holds the numbers of states, and 0 where a state has no successor.
	next, fail := make([]uint32, z.classes), []uint32{0}
	z.out = make([][]found, 1)
	for i, r := range rules {
		for _, h := range r.hints {
			at := 0
			for _, c := range []byte(h) {
				to := at*z.classes + int(z.class[c])
				if next[to] == 0 {
					next[to] = uint32(len(z.out)) //nolint:gosec // some hundred states
					next = append(next, make([]uint32, z.classes)...)
					z.out, fail = append(z.out, nil), append(fail, 0)
				}
				at = int(next[to])
			}
			z.out[at] = append(z.out[at], found{i, h})
		}
	}
	queue := []uint32{0}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		row, shorter := next[int(at)*z.classes:], next[int(fail[at])*z.classes:] // shorter is complete, because it was in the queue before
		if at != 0 {
			z.out[at] = append(z.out[at], z.out[fail[at]]...)
		}
		for c := range z.classes {
			switch to := row[c]; {
			case to != 0:
				queue = append(queue, to)
				if at != 0 {
					fail[to] = shorter[c]
				}
			case at != 0:
				row[c] = shorter[c]
			}
		}
	}
	for i := range next {
		next[i] *= uint32(z.classes) //nolint:gosec // fewer than bytes
	}
	z.next = next
	return z
}

// spans returns the ranges with the shape of a secret, in order and without overlap.
func (z *scanner) spans(s string) []span {
	var all []span
	var read []int // by rule
	state := uint32(0)
	for i := 0; i < len(s); i++ {
		state = z.next[state+uint32(z.class[s[i]])]
		if state == 0 {
			continue
		}
		hits := z.out[int(state)/z.classes]
		for _, hit := range hits {
			r := &z.rules[hit.rule]
			start := i + 1 - len(hit.hint)
			if r.exact && s[start:i+1] != hit.hint || read != nil && start < read[hit.rule] {
				continue
			}
			f, seen := r.match(s, start, i+1)
			if seen > 0 {
				if read == nil {
					read = make([]int, len(z.rules))
				}
				read[hit.rule] = seen
			}
			if f.end > f.begin {
				all = append(all, f)
			}
		}
	}
	return apart(all)
}

// apart sorts spans and merges overlapping ones.
func apart(all []span) []span {
	slices.SortFunc(all, func(a, b span) int { return a.begin - b.begin })
	kept := all[:0]
	for _, f := range all {
		if n := len(kept); n > 0 && f.begin < kept[n-1].end {
			kept[n-1].end = max(kept[n-1].end, f.end)
			continue
		}
		kept = append(kept, f)
	}
	return kept
}

// Span is a range of a text in bytes: [Begin, End).
type Span struct{ Begin, End int }

// Find returns the ranges with the shape of a secret, in order and without overlap; nil if there
// are none. It is safe for concurrent use.
func Find(text string) []Span {
	var all []Span
	for _, f := range scan().spans(text) {
		all = append(all, Span{f.begin, f.end})
	}
	return all
}

// Text returns text with [Mark] in place of every part with the shape of a secret. Text without any
// is returned unchanged. It is safe for concurrent use.
func Text(text string) string {
	return replace(text, scan().spans(text))
}

func replace(text string, spans []span) string {
	if len(spans) == 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	at := 0
	for _, f := range spans {
		b.WriteString(text[at:f.begin])
		b.WriteString(Mark)
		at = f.end
	}
	b.WriteString(text[at:])
	return b.String()
}

// rules returns the rules of all tokens and forms.
func rules() []rule {
	var all []rule
	for _, t := range tokens {
		class := classOf(t.chars)
		all = append(all, rule{hints: t.prefixes, exact: true, match: func(s string, start, end int) (span, int) {
			return t.match(s, start, end, class)
		}})
	}
	for _, f := range forms {
		all = append(all, rule{hints: f.hints, exact: f.exact, match: f.match})
	}
	return all
}

// Shape is a row of the published table.
type Shape struct {
	Name string // kind of secret, e.g. "GitHub token"
	Form string // description of its shape
}

// Shapes returns the shapes that [Text] knows, tokens first, in the order of the table.
func Shapes() []Shape {
	var all []Shape
	for _, t := range tokens {
		all = append(all, Shape{t.name, t.form()})
	}
	for _, f := range forms {
		all = append(all, Shape{f.name, f.form})
	}
	return all
}

// form describes a token: its prefixes and the characters after them.
func (t *token) form() string {
	var b strings.Builder
	for i, p := range t.prefixes {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("`" + p + "`")
	}
	b.WriteString(" and " + strconv.Itoa(t.least))
	switch {
	case t.most == 0:
		b.WriteString(" or more")
	case t.most > t.least:
		b.WriteString(" to " + strconv.Itoa(t.most))
	}
	b.WriteString(" of `" + t.chars + "`")
	if t.only != nil {
		b.WriteString(", letters and digits")
	}
	return b.String()
}
