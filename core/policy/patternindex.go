package policy

import (
	"cmp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// patternIndex finds the rules with a pattern that may match a text, by literal
// pieces of the pattern. It is immutable once all rules are added.
type patternIndex struct {
	rules   []*rule // all that tighten, in effective order
	always  []*rule // whose patterns may match a text without any of their pieces
	options []*rule // whose patterns contain only options
	begins  [1 << 10]uint64
	pieces  map[string][]*rule // by each piece, or the beginning of a long one
	lengths []int              // of the keys of pieces
	edged   sync.Once          // the following fields are computed for the first text with a hole
	starts  map[string][]*rule // by each beginning of a piece
	ends    map[string][]*rule // by each end of a piece
}

// add adds a rule; rules are added in effective order.
func (x *patternIndex) add(r *rule) {
	if x.pieces == nil {
		x.pieces = map[string][]*rule{}
	}
	x.rules = append(x.rules, r)
	if !r.traits.indexed {
		x.always = append(x.always, r)
		return
	}
	onlyOptions := true
	for _, text := range r.traits.pieces {
		onlyOptions = onlyOptions && (text[0] == '-' || strings.IndexFunc(text, unicode.IsLetter) < 0)
		if len(text) > 1 {
			key := text[:min(len(text), longestEdge)]
			n := bucket(key)
			x.begins[n/64] |= 1 << (n % 64)
			note(x.pieces, key, r)
			if !slices.Contains(x.lengths, len(key)) {
				x.lengths = append(x.lengths, len(key))
			}
		}
	}
	if onlyOptions {
		x.options = append(x.options, r)
	}
}

// longestEdge is the maximum length of the beginnings and ends of pieces, in
// bytes.
const longestEdge = 32

// edges computes the beginnings and ends of pieces.
func (x *patternIndex) edges() {
	x.starts, x.ends = map[string][]*rule{}, map[string][]*rule{}
	for _, r := range x.rules {
		for _, text := range r.traits.pieces {
			for i := 1; i <= min(len(text), longestEdge); i++ {
				note(x.starts, text[:i], r)
				note(x.ends, text[len(text)-i:], r)
			}
		}
	}
}

func note(m map[string][]*rule, key string, r *rule) {
	if list := m[key]; len(list) == 0 || list[len(list)-1] != r {
		m[key] = append(list, r)
	}
}

func bucket(two string) uint { return uint(two[0])<<8 | uint(two[1]) }

// found collects rules.
type found struct {
	rules []*rule
	seen  map[*rule]bool // only for many
}

// fewRules is the maximum number of rules collected without a map.
const fewRules = 16

func (f *found) add(rules ...*rule) {
	for _, r := range rules {
		switch {
		case f.seen != nil && f.seen[r], f.seen == nil && slices.Contains(f.rules, r):
			continue
		case f.seen == nil && len(f.rules) == fewRules:
			f.seen = make(map[*rule]bool)
			for _, known := range f.rules {
				f.seen[known] = true
			}
		}
		if f.seen != nil {
			f.seen[r] = true
		}
		f.rules = append(f.rules, r)
	}
}

// search adds the rules with a piece that a text contains, or that a hole in it
// may complete.
func (x *patternIndex) search(f *found, text string) {
	text = strings.ToLower(text)
	for i := 0; i+1 < len(text); i++ {
		n := bucket(text[i : i+2])
		if x.begins[n/64]&(1<<(n%64)) == 0 {
			continue
		}
		for _, length := range x.lengths {
			if i+length <= len(text) {
				f.add(x.pieces[text[i:i+length]]...)
			}
		}
	}
	if !hasHoles(text) {
		return
	}
	for i, c := range text {
		if holeOf(c) == nil {
			continue
		}
		x.edged.Do(x.edges)
		for k := i - 1; k >= max(0, i-longestEdge); k-- {
			f.add(x.starts[text[k:i]]...)
		}
		behind := text[i+len(string(c)):]
		for k := 1; k <= min(len(behind), longestEdge); k++ {
			f.add(x.ends[behind[:k]]...)
		}
	}
}

// piecesOf returns the literal texts of an expression, in lower case, and whether
// each match contains one of them.
func piecesOf(re *syntax.Regexp) (pieces []string, sure bool) {
	switch re.Op {
	case syntax.OpLiteral:
		// Quotes and the key of the command belong to the JSON of the arguments.
		pieces = strings.FieldsFunc(strings.ToLower(string(re.Rune)), func(c rune) bool { return c <= ' ' || c == '"' || c == ':' })
		pieces = slices.DeleteFunc(pieces, func(p string) bool { return p == "command" })
		return pieces, slices.ContainsFunc(pieces, func(p string) bool { return len(p) > 1 })
	case syntax.OpCapture, syntax.OpPlus:
		return piecesOf(re.Sub[0])
	case syntax.OpStar, syntax.OpQuest:
		pieces, _ = piecesOf(re.Sub[0])
		return pieces, false
	case syntax.OpRepeat:
		pieces, sure = piecesOf(re.Sub[0])
		return pieces, sure && re.Min > 0
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune) && len(re.Rune) <= 8; i += 2 {
			for c := re.Rune[i]; c <= re.Rune[i+1] && c < re.Rune[i]+4; c++ {
				if unicode.IsLetter(c) || unicode.IsDigit(c) {
					pieces = append(pieces, strings.ToLower(string(c)))
				}
			}
		}
		return pieces, false
	case syntax.OpConcat, syntax.OpAlternate:
		sure = re.Op == syntax.OpAlternate
		for _, sub := range re.Sub {
			more, holds := piecesOf(sub)
			pieces = append(pieces, more...)
			if re.Op == syntax.OpConcat {
				sure = sure || holds
			} else {
				sure = sure && holds
			}
		}
	}
	return pieces, sure
}

// patterned returns the rules with a pattern that tightens and that may apply to
// a part, in effective order.
func (j *judge) patterned(i int) []ref {
	x := &j.index.patterns
	if len(x.rules) == 0 {
		return nil
	}
	if j.partFound == nil {
		j.partFound = make([][]*rule, len(j.parts))
	}
	p := &j.parts[i]
	if j.partFound[i] == nil {
		j.partFound[i] = j.patternsOfPart(i)
	}
	rules := j.partFound[i]
	var refs []ref
	if len(rules) > 0 {
		refs = make([]ref, 0, len(rules)+2)
	}
	for _, r := range rules {
		refs = append(refs, ref{rule: r})
	}
	if !p.Option && p.Kind != shell.Write && (p.Kind == shell.Unknown || len(p.Words) > 0 && !fixed(p.Words[0])) {
		// Any of them may apply. The highest that asks and the highest that
		// denies represent the others.
		deny := false
		for _, r := range x.rules {
			if deny = r.Decision == Deny; r.holds(j.call) && (deny || len(refs) == len(rules)) {
				refs = append(refs, ref{rule: r, forced: true})
				if deny {
					break
				}
			}
		}
	}
	slices.SortStableFunc(refs, func(a, b ref) int { return cmp.Compare(a.at, b.at) })
	return refs
}

// patternsOfPart returns the rules with a pattern that tightens and that may match
// a part or the line.
func (j *judge) patternsOfPart(i int) []*rule {
	x, p := &j.index.patterns, &j.parts[i]
	f := found{rules: make([]*rule, 0, fewRules)}
	f.add(x.always...)
	f.add(j.patternsOfLine()...)
	if j.isLiteral(i) {
		for _, tail := range tails(vectors(p.Words)[0]) {
			for _, word := range tail.words {
				if !slices.ContainsFunc(p.Words, func(w shell.Word) bool { return w.Text == word }) {
					x.search(&f, word)
				}
			}
		}
	} else {
		for _, s := range j.spelled(i) {
			x.search(&f, s.text)
		}
	}
	for _, s := range j.hidden(i) {
		x.search(&f, s.text)
	}
	if len(j.hidden(i)) > 0 || named(p) && len(p.Words) > 1 && (habitsOf[family(p.Words[0].Text)].long != nil || hasLong(p)) || j.mayTakeOptions(i) {
		f.add(x.options...)
	}
	return f.rules
}

// isLiteral reports whether the spellings of a part consist of the words that
// [judge.patternsOfLine] searches, and of other names of the part's words, with
// blanks between them. As pieces have no blanks, these spellings need not be searched.
func (j *judge) isLiteral(i int) bool {
	p := &j.parts[i]
	if !j.literal || !named(p) || baseName(p.Words[0].Text) != p.Words[0].Text {
		return false
	}
	redirections, _ := j.redirections(i)
	return len(redirections) == 0
}

// hasLong reports whether a part has a long option, which may be abbreviated.
func hasLong(p *shell.Part) bool {
	return slices.ContainsFunc(p.Words, func(w shell.Word) bool { return strings.HasPrefix(w.Text, "--") && len(w.Text) > len("--") })
}

// patternsOfLine returns the rules that may apply to the unparsed line, to words of
// its parts, or to other arguments of the call.
func (j *judge) patternsOfLine() []*rule {
	if j.lineFound == nil {
		var f found
		search := func(text string) {
			if !strings.Contains(j.line.Source, text) {
				j.index.patterns.search(&f, text)
			}
		}
		j.index.patterns.search(&f, j.line.Source)
		j.literal = true
		for _, p := range j.parts {
			search(p.Text)
			search(p.Raw)
			for _, w := range p.Words {
				search(w.Text)
				j.literal = j.literal && fixed(w)
			}
		}
		if j.args.holds(""); j.args.unclear {
			f.add(j.index.patterns.rules...)
		} else {
			t := j.args.texts
			for _, text := range slices.Concat([]string{t.given, t.real}, t.plain, t.seen) {
				j.index.patterns.search(&f, text)
			}
		}
		j.lineFound = append(make([]*rule, 0, len(f.rules)), f.rules...)
	}
	return j.lineFound
}
