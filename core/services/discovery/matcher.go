package discovery

import (
	"bytes"
	"io"
	"unicode/utf8"
)

// matcher reports whether lines match a pattern. It is not safe for concurrent use.
type matcher struct {
	*Pattern
	dfa   *automaton  // nil if a literal decides alone
	ended func() bool // reports that the result is no longer needed; polled
}

func (p *Pattern) matcher(ended func() bool) matcher {
	if p.plain {
		return matcher{p, nil, ended}
	}
	return matcher{p, newAutomaton(p.prog), ended}
}

// match reports whether a line matches; false once ended.
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

// find returns the range of the first match in a matching line.
func (m matcher) find(line []byte) (start, end int) {
	if m.plain {
		at := m.literals[0].index(line)
		return at, at + len(m.literals[0].text)
	}
	from := m.firstStart(line)
	line = line[from:]
	var loc []int
	if m.slow(line) {
		loc = m.re.FindReaderIndex(m.reader(line))
	} else {
		loc = m.re.FindIndex(line)
	}
	if loc == nil {
		return 0, 0
	}
	return from + loc[0], from + loc[1]
}

// firstStart returns an index in line before which no match starts: a match has a literal, and is not
// longer than maxMatch. Searching from there finds the same match as searching from the beginning.
func (m matcher) firstStart(line []byte) int {
	if m.literals == nil || m.maxMatch == 0 {
		return 0
	}
	from := max(0, newCursor(m.literals, line, 0).next(0)-m.maxMatch)
	for i := 0; i < utf8.UTFMax && from > 0 && !utf8.RuneStart(line[from]); i++ {
		from--
	}
	return from
}

// slow reports whether package regexp may take so long for a line that it must be interruptible.
func (m matcher) slow(line []byte) bool {
	const atOnce = 1 << 22
	return len(line)*len(m.prog.Inst) > atOnce
}

func (m matcher) reader(line []byte) *endingReader {
	const between = 1 << 20
	return &endingReader{r: bytes.NewReader(line), ended: m.ended, each: 1 + between/len(m.prog.Inst)}
}

// endingReader reads runes, and returns io.EOF once its search has ended.
type endingReader struct {
	r          *bytes.Reader
	ended      func() bool
	each, runs int // number of runes between two polls, and number of runes read
}

func (e *endingReader) ReadRune() (r rune, size int, err error) {
	if e.runs++; e.runs%e.each == 0 && e.ended() {
		return 0, 0, io.EOF
	}
	return e.r.ReadRune()
}
