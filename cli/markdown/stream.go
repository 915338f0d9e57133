package markdown

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/cli/theme"
)

// Stream renders a source that grows. What has become final is handed out once;
// what Add and End have returned, joined, is what [Render] returns for the whole
// source, however it was cut. It is not for concurrent use.
type Stream struct {
	renderer *renderer
	splitter splitter
	rest     []byte // of a line that is not ended
	printed  bool   // something was handed out
	inCode   bool   // a block of code has been begun
}

// NewStream returns the rendering of an empty source; columns and theme are those
// of [Render].
func NewStream(columns int, t theme.Theme) *Stream {
	return &Stream{renderer: newRenderer(max(columns, minColumns), t)}
}

// minColumns are the fewest columns that text is folded to.
const minColumns = 10

// maxBlock is how many bytes of source one block has at most.
const maxBlock = 64 << 10

// Add takes the next piece of the source, which may end anywhere, within a
// character too, and returns the lines that have become final by it, "" for none.
func (s *Stream) Add(piece string) (final string) {
	var b strings.Builder
	for piece != "" {
		line, after, ended := strings.Cut(piece, "\n")
		if room := maxBlock - len(s.rest); len(line) >= room {
			line, after, ended = piece[:room], piece[room:], false
		}
		s.rest = append(s.rest, line...)
		piece = after
		switch {
		case ended:
			s.rest = append(bytes.TrimSuffix(s.rest, []byte("\r")), '\n')
			s.line(&b)
		case len(s.rest) == maxBlock:
			s.longLine(&b)
		}
	}
	return b.String()
}

// Open renders what is not final yet, as if the source ended here. It changes
// nothing, and costs about what is open, of which there are 64 KiB at most: call
// it once for each frame.
func (s *Stream) Open() string {
	rest := s.rest[:wholeCharacters(s.rest)]
	if len(rest) == 0 && len(s.splitter.block) == 0 {
		return ""
	}
	ahead := *s
	ahead.splitter = s.splitter.clone()
	ahead.renderer = s.renderer.ahead()
	ahead.rest = bytes.Clone(rest)
	return ahead.End()
}

// End ends the source, and returns the rest. The stream is empty then, and can be
// used again.
func (s *Stream) End() (final string) {
	var b strings.Builder
	if len(s.rest) > 0 {
		s.line(&b)
	}
	s.show(&b, s.splitter.end())
	*s = Stream{renderer: newRenderer(s.renderer.columns, s.renderer.theme)}
	return b.String()
}

// longLine takes what there is of a line that is too long as one, but for a
// character that is not whole.
func (s *Stream) longLine(b *strings.Builder) {
	n := wholeCharacters(s.rest)
	begun := bytes.Clone(s.rest[n:])
	s.rest = s.rest[:n]
	s.line(b)
	s.rest = append(s.rest, begun...)
}

// wholeCharacters returns the length of text without a character at its end that
// is only begun.
func wholeCharacters(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if at := len(text) - n; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				return at
			}
			break
		}
	}
	return len(text)
}

// line takes a whole line.
func (s *Stream) line(b *strings.Builder) {
	for _, p := range s.splitter.line(s.rest) {
		s.show(b, p)
	}
	s.rest = s.rest[:0]
}

// show renders a part of the source, which is final.
func (s *Stream) show(b *strings.Builder, p part) {
	var lines []string
	within := false // of a block that something was printed of
	switch p.kind {
	case partBlock:
		lines = s.renderer.block(p.text)
	case partFence:
		s.inCode = false
		lines = s.renderer.codeLabel(string(p.text), s.renderer.columns)
	case partCode:
		within = s.inCode
		lines = s.renderer.codeLine(string(p.text), s.renderer.columns)
	}
	if len(lines) == 0 {
		return
	}
	if s.printed && !within {
		b.WriteByte('\n')
	}
	s.printed, s.inCode = true, p.kind != partBlock
	for _, line := range lines {
		b.WriteString(line)
		b.WriteByte('\n')
	}
}
