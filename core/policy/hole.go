package policy

import (
	"regexp/syntax"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// machine decides whether a pattern may match a text with holes, which stand
// for pieces of a command that are not known; see [shell.Word]. It follows all
// states of the pattern at once, and at a hole all that some text leads to.
//
// A hole alone is no match: nearly every pattern that begins with .* matches
// some text, and would ask about every line with a variable. Some of what the
// pattern spells, a letter or digit at least, has to stand in the known text:
// rm.*-rf may match rm "$x", and r$x -rf, and not echo "$x".
type machine struct {
	pattern  string
	once     sync.Once
	prog     *syntax.Prog
	specific []bool // instructions that few characters pass
}

// newMachine returns a machine for a pattern that compiles. It is made ready
// when it is first used.
func newMachine(pattern string) *machine { return &machine{pattern: pattern} }

func (m *machine) ready() {
	parsed, err := syntax.Parse(m.pattern, syntax.Perl)
	if err != nil {
		return
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return
	}
	m.prog, m.specific = prog, make([]bool, len(prog.Inst))
	for i := range prog.Inst {
		m.specific[i] = isSpecific(&prog.Inst[i])
	}
}

// isSpecific reports whether an instruction is passed by no more than four
// characters, as a literal is in both cases.
func isSpecific(in *syntax.Inst) bool {
	switch in.Op {
	case syntax.InstRune1:
		return true
	case syntax.InstRune:
		n := 0
		for i := 0; i+1 < len(in.Rune); i += 2 {
			n += int(in.Rune[i+1]-in.Rune[i]) + 1
		}
		return n <= 4
	}
	return false
}

// search is how a pattern is searched in a text.
type search struct {
	anchored bool // from the start of the text alone
	from, to int  // the bytes of it that are of the command
	free     bool // a hole alone is a match too
}

// may reports whether the pattern may match. A pattern that is too complex may.
func (m *machine) may(text string, how search) bool {
	m.once.Do(m.ready)
	if m.prog == nil {
		return true
	}
	r := run{machine: m, text: text, search: how}
	r.now, r.next = newStates(len(m.prog.Inst)), newStates(len(m.prog.Inst))
	for r.at <= len(text) && !r.found {
		if r.at == 0 || !how.anchored {
			r.enter(r.now, uint32(m.prog.Start), how.free) //nolint:gosec // an index
		}
		if r.at == len(text) {
			break
		}
		c, size := utf8.DecodeRuneInString(text[r.at:])
		if passes := holeOf(c); passes != nil {
			r.hole(passes, size)
		} else {
			r.step(c, size)
		}
	}
	return r.found
}

// states are a set of instructions, each with whether the known text has led
// to it by what the pattern spells.
type states struct {
	in   []bool
	list []uint32
}

func newStates(instructions int) *states { return &states{in: make([]bool, 2*instructions)} }

func (s *states) add(state uint32) bool {
	if s.in[state] {
		return false
	}
	s.in[state] = true
	s.list = append(s.list, state)
	return true
}

func (s *states) clear() {
	for _, state := range s.list {
		s.in[state] = false
	}
	s.list = s.list[:0]
}

// run is one search.
type run struct {
	*machine
	search
	text      string
	at        int
	inside    bool // a hole
	found     bool
	now, next *states
}

// enter adds an instruction and all that follow it without a character.
func (r *run) enter(s *states, pc uint32, led bool) {
	state := 2 * pc
	if led {
		state++
	}
	if !s.add(state) {
		return
	}
	switch in := &r.prog.Inst[pc]; in.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		r.enter(s, in.Out, led)
		r.enter(s, in.Arg, led)
	case syntax.InstCapture, syntax.InstNop:
		r.enter(s, in.Out, led)
	case syntax.InstEmptyWidth:
		if r.stands(syntax.EmptyOp(in.Arg)) { //nolint:gosec // eight bits
			r.enter(s, in.Out, led)
		}
	case syntax.InstMatch:
		r.found = r.found || led
	}
}

// stands reports whether an empty assertion may hold. Beside a hole it may.
func (r *run) stands(op syntax.EmptyOp) bool {
	if op&syntax.EmptyBeginText != 0 && strings.Trim(r.text[:r.at], allHoles) != "" ||
		op&syntax.EmptyEndText != 0 && strings.Trim(r.text[r.at:], allHoles) != "" {
		return false
	}
	before, after := rune(-1), rune(-1)
	if r.at > 0 {
		before, _ = utf8.DecodeLastRuneInString(r.text[:r.at])
	}
	if r.at < len(r.text) {
		after, _ = utf8.DecodeRuneInString(r.text[r.at:])
	}
	if r.inside || holeOf(before) != nil || holeOf(after) != nil {
		return true
	}
	return op&^(syntax.EmptyBeginText|syntax.EmptyEndText)&^syntax.EmptyOpContext(before, after) == 0
}

// step takes a known character.
func (r *run) step(c rune, size int) {
	r.inside = false
	at := r.at
	r.at += size
	spelled := at >= r.from && at < r.to && (unicode.IsLetter(c) || unicode.IsDigit(c))
	r.next.clear()
	for _, state := range r.now.list {
		pc := state / 2
		if in := &r.prog.Inst[pc]; takes(in, c) {
			r.enter(r.next, in.Out, state%2 == 1 || spelled && r.specific[pc])
		}
	}
	r.now, r.next = r.next, r.now
}

// hole takes any text of characters that pass.
func (r *run) hole(passes func(*syntax.Inst) bool, size int) {
	r.inside = true
	for i := 0; i < len(r.now.list); i++ { // which grows
		state := r.now.list[i]
		if in := &r.prog.Inst[state/2]; isRune(in) && passes(in) {
			r.enter(r.now, in.Out, state%2 == 1)
		}
		if i+1 == len(r.now.list) && !r.anchored {
			r.enter(r.now, uint32(r.prog.Start), r.free) //nolint:gosec // an index
		}
	}
	r.at += size
	// What stands behind the hole may be seen by an assertion before it.
	for _, state := range append([]uint32(nil), r.now.list...) {
		if in := &r.prog.Inst[state/2]; in.Op == syntax.InstEmptyWidth && r.stands(syntax.EmptyOp(in.Arg)) { //nolint:gosec // eight bits
			r.enter(r.now, in.Out, state%2 == 1)
		}
	}
	r.inside = false
}

func isRune(in *syntax.Inst) bool {
	switch in.Op {
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	}
	return false
}

func takes(in *syntax.Inst, c rune) bool {
	switch in.Op {
	case syntax.InstRune, syntax.InstRune1:
		return in.MatchRune(c)
	case syntax.InstRuneAny:
		return true
	case syntax.InstRuneAnyNotNL:
		return c != '\n'
	}
	return false
}

const allHoles = shell.HoleText + shell.HoleName + shell.HoleNumber

// holeOf returns which instructions the characters of a hole pass; nil for a
// character that is no hole.
func holeOf(c rune) func(*syntax.Inst) bool {
	switch string(c) {
	case shell.HoleText:
		return func(in *syntax.Inst) bool { return in.Op != syntax.InstRune || len(in.Rune) > 0 }
	case shell.HoleName:
		return func(in *syntax.Inst) bool {
			return in.Op != syntax.InstRune1 && (in.Op != syntax.InstRune || len(in.Rune) > 0) || in.Op == syntax.InstRune1 && in.Rune[0] != '/'
		}
	case shell.HoleNumber:
		return func(in *syntax.Inst) bool {
			return strings.ContainsFunc("-0123456789", func(c rune) bool { return takes(in, c) })
		}
	}
	return nil
}

// hasHoles reports whether a text has holes.
func hasHoles(text string) bool { return strings.ContainsAny(text, allHoles) }
