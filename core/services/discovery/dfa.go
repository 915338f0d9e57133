package discovery

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

const (
	// room is the budget of an automaton for states: their bytes, and one for every few
	// instructions inspected to create them.
	room      = 2 << 20
	stateSize = 2*bytesPerState + 100
	// A state has an entry for each byte.
	bytesPerState = 256
	noRune        = -1
)

// The result for a state and a byte: one of these, or a state.
const (
	unknown    uint16 = iota // not computed yet
	accept                   // the line matches
	dead                     // the line cannot match any more
	beyond                   // the byte is not ASCII: see automaton.wide
	firstState               // the state at the beginning of a line
)

// automaton reports whether a line matches, in constant time for each byte, where package regexp
// follows every possible match. Its states are created on demand. It is not safe for concurrent
// use.
type automaton struct {
	prog     *syntax.Prog
	anchored bool     // a match begins with the line
	next     []uint16 // by state and byte
	states   []state  // by number from firstState on
	numbers  map[string]uint16
	wide     map[[2]rune]uint16 // by state and rune beyond ASCII
	room     int                // the remaining budget; below 0 the automaton is unusable
	work     closure
}

// state is the state of an automaton between two bytes of a line.
type state struct {
	places []uint32 // next instructions, sorted, not past assertions
	before rune     // the previous rune, as far as assertions need it: noRune, a letter or a blank
	end    uint16   // the result if the line ends here: unknown, accept or dead
}

func newAutomaton(prog *syntax.Prog) *automaton {
	a := &automaton{
		prog: prog, anchored: prog.StartCond()&syntax.EmptyBeginText != 0, numbers: make(map[string]uint16), wide: make(map[[2]rune]uint16),
		next: make([]uint16, int(firstState)*bytesPerState), room: room, work: closure{seen: make([]bool, len(prog.Inst))},
	}
	a.add(state{places: []uint32{uint32(prog.Start)}, before: noRune})
	return a
}

// add adds a state and returns its number.
func (a *automaton) add(s state) uint16 {
	a.states = append(a.states, s)
	row := make([]uint16, bytesPerState)
	for c := utf8.RuneSelf; c < len(row); c++ {
		row[c] = beyond
	}
	a.next = append(a.next, row...)
	return firstState + uint16(len(a.states)-1)
}

// match reports whether line, which contains no line feed, matches. known is false once there is no
// room for more states.
func (a *automaton) match(line []byte) (matched, known bool) {
	if a.room < 0 {
		return false, false
	}
	at, table := firstState, a.next
	for i := 0; i < len(line); i++ {
		place := int(at)*bytesPerState + int(line[i])
		next := table[place]
		if next < firstState {
			switch next {
			case unknown:
				next = a.after(at, rune(line[i]))
				table = a.next
				table[place] = next
			case beyond:
				r, size := utf8.DecodeRune(line[i:])
				i += size - 1
				next = a.afterWide(at, r)
				table = a.next
			}
			switch next {
			case unknown:
				return false, false
			case accept, dead:
				return next == accept, true
			}
		}
		at = next
	}
	s := &a.states[at-firstState]
	if s.end == unknown {
		s.end = a.after(at, noRune)
	}
	return s.end == accept, s.end != unknown
}

// afterWide is after for a rune beyond ASCII.
func (a *automaton) afterWide(number uint16, c rune) uint16 {
	const entry = 32 // approximate bytes of a map's entry
	key := [2]rune{rune(number), c}
	next, ok := a.wide[key]
	if !ok {
		if a.room -= entry; a.room < 0 {
			return unknown
		}
		next = a.after(number, c)
		a.wide[key] = next
	}
	return next
}

// after returns the result for a state and c, where noRune is the line's end; unknown if there is
// no room for it.
func (a *automaton) after(number uint16, c rune) uint16 {
	s := a.states[number-firstState]
	a.room -= len(a.prog.Inst) / 16
	places, matched := a.work.of(a.prog, s.places, syntax.EmptyOpContext(s.before, c))
	switch {
	case matched:
		return accept
	case c == noRune:
		return dead
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
		return dead
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
	known, ok := a.numbers[string(key)]
	if !ok {
		if a.room -= stateSize + 2*len(key); a.room < 0 {
			return unknown
		}
		known = a.add(state{places: next, before: before})
		a.numbers[string(key)] = known
	}
	return known
}

// closure finds the instructions that consume a rune.
type closure struct {
	seen  []bool // by instruction
	stack []uint32
	taken []uint32
}

// of returns the instructions that consume a rune and are reachable from places through true
// assertions, or reports that a match is reached. The slice is valid until the next call.
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
