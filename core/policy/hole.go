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
// A possible value of a hole is not enough for a match: a pattern that begins with
// .* would match every line with a variable. These are the limits:
//
//   - A letter or digit that the pattern spells has to stand in the known text:
//     rm.*-rf may match rm "$x", and r$x -rf, and not echo "$x".
//   - A hole that is part of one word has no blanks, and gives one piece of what
//     the pattern spells: git.*reset.*--hard may match git $x and git reset "$x",
//     and not git log "$x".
//   - Where the program's subcommand is known, such a hole gives no other one:
//     git.*push may match git "$x", and not git log "$x". It does give an option,
//     and operands behind a subcommand that the pattern spells: git.*--force
//     may match git push "$x", and so may git push.*main.
type machine struct {
	pattern  string
	once     sync.Once
	prog     *syntax.Prog
	specific []bool // instructions that few characters pass
}

// newMachine returns a machine for a valid pattern. It is compiled on first use.
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

// isSpecific reports whether at most four characters pass an instruction, like a
// literal in both cases.
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

// search specifies how a pattern is searched in a text.
type search struct {
	anchored bool // only from the start of the text
	from, to int  // the byte range of the command in it
	program  int  // the end of the program's name, if its subcommand is known; else 0
	free     bool // a hole alone is a match too
}

// may reports whether the pattern may match. A pattern that is too complex may.
func (m *machine) may(text string, how search, memory *[2]states) bool {
	m.once.Do(m.ready)
	if m.prog == nil {
		return true
	}
	r := run{machine: m, text: text, search: how}
	r.now, r.next = &memory[0], &memory[1]
	r.now.reset(len(m.prog.Inst))
	r.next.reset(len(m.prog.Inst))
	for r.at <= len(text) && !r.found {
		if r.at == 0 || !how.anchored {
			r.enter(r.now, r.start())
		}
		if r.at == len(text) {
			break
		}
		c, size := utf8.DecodeRuneInString(text[r.at:])
		if h := holeOf(c); h != nil {
			r.hole(h, size)
		} else {
			r.step(c, size)
		}
	}
	return r.found
}

// state is an instruction with the history that led to it.
type state struct {
	pc   uint32
	led  uint8 // by what the pattern spells: see below
	gave uint8 // by what the current hole gave of that
}

const (
	ledNot     = iota // not by the known text
	ledProgram        // by the name of the program
	ledFurther        // by known text beyond it
)

const (
	gaveNone  = iota
	gavePiece // and may continue it
	gaveAll   // and may give no more
)

func (s state) index() int { return int(s.pc)*9 + int(s.led)*3 + int(s.gave) }

// states is a set of states.
type states struct {
	in   []bool
	list []state
}

// reset empties the set and sizes it for a pattern.
func (s *states) reset(instructions int) {
	s.clear()
	if len(s.in) < 9*instructions {
		s.in = make([]bool, 9*instructions)
	}
}

func (s *states) add(st state) bool {
	if s.in[st.index()] {
		return false
	}
	s.in[st.index()] = true
	s.list = append(s.list, st)
	return true
}

func (s *states) clear() {
	for _, st := range s.list {
		s.in[st.index()] = false
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

func (r *run) start() state {
	s := state{pc: uint32(r.prog.Start)} //nolint:gosec // an index
	if r.free {
		s.led = ledFurther
	}
	return s
}

// enter adds an instruction and all that follow it without a character.
func (r *run) enter(s *states, st state) {
	if !s.add(st) {
		return
	}
	in := &r.prog.Inst[st.pc]
	out := st
	out.pc = in.Out
	switch in.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		r.enter(s, out)
		out.pc = in.Arg
		r.enter(s, out)
	case syntax.InstCapture, syntax.InstNop:
		r.enter(s, out)
	case syntax.InstEmptyWidth:
		if r.stands(syntax.EmptyOp(in.Arg)) { //nolint:gosec // eight bits
			r.enter(s, out)
		}
	case syntax.InstMatch:
		r.found = r.found || st.led != ledNot
	}
}

// stands reports whether an empty assertion may hold. Next to a hole it may.
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

// step consumes a known character.
func (r *run) step(c rune, size int) {
	at := r.at
	r.at += size
	led := uint8(ledNot)
	if at >= r.from && at < r.to && (unicode.IsLetter(c) || unicode.IsDigit(c)) {
		led = ledFurther
		if at < r.program {
			led = ledProgram
		}
	}
	r.next.clear()
	for _, st := range r.now.list {
		in := &r.prog.Inst[st.pc]
		if !takes(in, c) {
			continue
		}
		out := state{pc: in.Out, led: st.led}
		if r.specific[st.pc] {
			out.led = max(out.led, led)
		}
		r.enter(r.next, out)
	}
	r.now, r.next = r.next, r.now
}

// hole consumes any text that fits.
func (r *run) hole(h *hole, size int) {
	r.inside = true
	for i := 0; i < len(r.now.list); i++ { // the list grows
		st := r.now.list[i]
		in := &r.prog.Inst[st.pc]
		if isRune(in) && h.passes(in) {
			if out, ok := r.given(h, st, in); ok {
				r.enter(r.now, out)
			}
		}
		if i+1 == len(r.now.list) && !r.anchored {
			r.enter(r.now, r.start())
		}
	}
	r.at += size
	r.inside = false
	r.next.clear()
	for _, st := range r.now.list {
		st.gave = gaveNone
		r.enter(r.next, st)
	}
	r.now, r.next = r.next, r.now
}

// given returns the state after an instruction that consumes a character of a
// hole.
func (r *run) given(h *hole, st state, in *syntax.Inst) (state, bool) {
	out := st
	out.pc = in.Out
	switch {
	case !h.word:
	case !r.specific[st.pc]:
		if st.gave == gavePiece {
			out.gave = gaveAll
		}
	case st.gave == gaveAll:
		return out, false
	case st.gave == gaveNone && r.program > 0 && st.led == ledProgram && isName(in):
		return out, false
	default:
		out.gave = gavePiece
	}
	return out, true
}

// isName reports whether a specific instruction consumes a letter.
func isName(in *syntax.Inst) bool { return len(in.Rune) > 0 && unicode.IsLetter(in.Rune[0]) }

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

const allHoles = shell.HoleText + shell.HoleWord + shell.HoleName + shell.HoleNumber

// holesBegin is the common beginning of the encoded holes, which few other
// characters share.
const holesBegin = "\xf3\xb0\x80"

// hole describes the possible content of a hole.
type hole struct {
	word   bool // it is part of one word
	passes func(*syntax.Inst) bool
}

var (
	textHole   = &hole{passes: func(in *syntax.Inst) bool { return in.Op != syntax.InstRune || len(in.Rune) > 0 }}
	wordHole   = &hole{word: true, passes: func(in *syntax.Inst) bool { return passesOther(in, " \t\n") }}
	nameHole   = &hole{word: true, passes: func(in *syntax.Inst) bool { return passesOther(in, " \t\n/") }}
	numberHole = &hole{word: true, passes: func(in *syntax.Inst) bool {
		return strings.ContainsFunc("-0123456789", func(c rune) bool { return takes(in, c) })
	}}
)

// holeOf returns the content of a hole; nil for other characters.
func holeOf(c rune) *hole {
	if c < 0xF0000 {
		return nil
	}
	switch string(c) {
	case shell.HoleText:
		return textHole
	case shell.HoleWord:
		return wordHole
	case shell.HoleName:
		return nameHole
	case shell.HoleNumber:
		return numberHole
	}
	return nil
}

// passesOther reports whether characters other than the given ones pass an
// instruction.
func passesOther(in *syntax.Inst, some string) bool {
	if in.Op != syntax.InstRune && in.Op != syntax.InstRune1 {
		return true
	}
	if len(in.Rune) == 1 {
		return !strings.ContainsRune(some, in.Rune[0])
	}
	n := 0
	for i := 0; i+1 < len(in.Rune); i += 2 {
		n += int(in.Rune[i+1]-in.Rune[i]) + 1
	}
	for _, c := range some {
		if in.MatchRune(c) {
			n--
		}
	}
	return n > 0
}

// hasHoles reports whether a text has holes.
func hasHoles(text string) bool {
	return strings.Contains(text, holesBegin) && strings.ContainsAny(text, allHoles)
}
