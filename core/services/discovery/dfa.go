package discovery

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

const (
	// room is what an automaton may spend on states: their bytes, and one for
	// every few instructions that are looked at to make them.
	room      = 2 << 20
	stateSize = 1_200 // bytes, roughly
	endOfLine = utf8.RuneSelf
	noRune    = -1
)

// automaton tells whether a line of ASCII matches, in constant time for each
// byte, where package regexp follows every way to match. Its states are made
// as lines lead to them. It is not for concurrent use.
type automaton struct {
	prog     *syntax.Prog
	anchored bool // a match begins with the line
	states   map[string]*state
	start    *state
	accept   *state
	dead     *state // no match can follow
	room     int    // what is left of it; below 0 the automaton knows no more
	work     closure
}

// state is where an automaton stands between two bytes of a line.
type state struct {
	next   [endOfLine + 1]*state // by what comes; nil: not known yet
	places []uint32              // instructions to go on with, sorted, not past assertions
	before rune                  // what came, as far as assertions ask: noRune, a letter or a blank
}

func newAutomaton(prog *syntax.Prog) *automaton {
	a := &automaton{
		prog: prog, anchored: prog.StartCond()&syntax.EmptyBeginText != 0,
		states: make(map[string]*state), accept: new(state), dead: new(state),
		room: room, work: closure{seen: make([]bool, len(prog.Inst))},
	}
	a.start = &state{places: []uint32{uint32(prog.Start)}, before: noRune}
	return a
}

// match reports whether line, which holds no line feed, matches. It does not
// know of lines beyond ASCII, nor once it has no room for more states.
func (a *automaton) match(line []byte) (matched, known bool) {
	if a.room < 0 {
		return false, false
	}
	s := a.start
	for _, c := range line {
		if c >= utf8.RuneSelf {
			return false, false
		}
		next := s.next[c]
		if next == nil {
			if next = a.step(s, rune(c)); next == nil {
				return false, false
			}
		}
		if next == a.accept {
			return true, true
		}
		if next == a.dead {
			return false, true
		}
		s = next
	}
	if s.next[endOfLine] == nil && a.step(s, noRune) == nil {
		return false, false
	}
	return s.next[endOfLine] == a.accept, true
}

// step makes the state that comes after s and c; nil if there is no room.
func (a *automaton) step(s *state, c rune) *state {
	a.room -= len(a.prog.Inst) / 16
	next := a.after(s, c)
	if a.room < 0 {
		return nil
	}
	if c == noRune {
		c = endOfLine
	}
	s.next[c] = next
	return next
}

func (a *automaton) after(s *state, c rune) *state {
	places, matched := a.work.of(a.prog, s.places, syntax.EmptyOpContext(s.before, c))
	switch {
	case matched:
		return a.accept
	case c == noRune:
		return a.dead
	}
	var next []uint32
	for _, pc := range places {
		if i := &a.prog.Inst[pc]; i.MatchRune(c) {
			next = append(next, i.Out)
		}
	}
	if !a.anchored {
		next = append(next, uint32(a.prog.Start))
	}
	if len(next) == 0 {
		return a.dead
	}
	slices.Sort(next)
	next = slices.Compact(next)
	before := ' '
	if syntax.IsWordChar(c) {
		before = 'a'
	}
	key := []byte{byte(before)}
	for _, pc := range next {
		key = binary.NativeEndian.AppendUint32(key, pc)
	}
	known := a.states[string(key)]
	if known == nil {
		a.room -= stateSize + 2*len(key)
		known = &state{places: next, before: before}
		a.states[string(key)] = known
	}
	return known
}

// closure finds the instructions that take a rune.
type closure struct {
	seen  []bool // by instruction
	stack []uint32
	taken []uint32
}

// of returns the instructions that are reached from places without a rune, by
// assertions that hold, and take one; or that a match is reached. The slice is
// good until the next call.
func (w *closure) of(prog *syntax.Prog, places []uint32, holds syntax.EmptyOp) (taken []uint32, matched bool) {
	clear(w.seen)
	w.stack, w.taken = append(w.stack[:0], places...), w.taken[:0]
	for len(w.stack) > 0 {
		pc := w.stack[len(w.stack)-1]
		w.stack = w.stack[:len(w.stack)-1]
		if w.seen[pc] {
			continue
		}
		w.seen[pc] = true
		switch i := &prog.Inst[pc]; i.Op {
		case syntax.InstMatch:
			return nil, true
		case syntax.InstFail:
		case syntax.InstAlt, syntax.InstAltMatch:
			w.stack = append(w.stack, i.Out, i.Arg)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(i.Arg)&^holds == 0 {
				w.stack = append(w.stack, i.Out)
			}
		case syntax.InstCapture, syntax.InstNop:
			w.stack = append(w.stack, i.Out)
		default:
			w.taken = append(w.taken, pc)
		}
	}
	return w.taken, false
}
