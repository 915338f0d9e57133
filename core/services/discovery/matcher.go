package discovery

import (
	"bytes"
	"io"
)

// matcher tells whether lines match a pattern. It is not for concurrent use.
type matcher struct {
	*Pattern
	dfa   *automaton  // nil where a literal tells all
	ended func() bool // nobody wants to know any more; asked now and then
}

func (p *Pattern) matcher(ended func() bool) matcher {
	if p.plain {
		return matcher{p, nil, ended}
	}
	return matcher{p, newAutomaton(p.prog), ended}
}

// match reports whether a line matches; once ended, that it does not.
func (m matcher) match(line []byte) bool {
	if m.plain {
		return m.literals[0].index(line) >= 0
	}
	if matched, known := m.dfa.match(line); known {
		return matched
	}
	if !m.slow(line) {
		return !m.ended() && m.re.Match(line)
	}
	return m.re.MatchReader(m.reader(line)) && !m.ended()
}

// find returns where the first match in a line that matches begins and ends.
func (m matcher) find(line []byte) (start, end int) {
	if m.plain {
		at := m.literals[0].index(line)
		return at, at + len(m.literals[0].text)
	}
	var loc []int
	if m.slow(line) {
		loc = m.re.FindReaderIndex(m.reader(line))
	} else {
		loc = m.re.FindIndex(line)
	}
	if loc == nil {
		return 0, 0
	}
	return loc[0], loc[1]
}

// slow reports whether package regexp may take so long for a line that it has
// to be ended on the way.
func (m matcher) slow(line []byte) bool {
	const atOnce = 1 << 22
	return len(line)*len(m.prog.Inst) > atOnce
}

func (m matcher) reader(line []byte) *endingReader {
	const between = 1 << 20
	return &endingReader{r: bytes.NewReader(line), ended: m.ended, each: 1 + between/len(m.prog.Inst)}
}

// endingReader reads runes, and is at its end once its reader has ended.
type endingReader struct {
	r          *bytes.Reader
	ended      func() bool
	each, runs int // how many runes to read between two questions, and how many were read
}

func (e *endingReader) ReadRune() (r rune, size int, err error) {
	if e.runs++; e.runs%e.each == 0 && e.ended() {
		return 0, 0, io.EOF
	}
	return e.r.ReadRune()
}
