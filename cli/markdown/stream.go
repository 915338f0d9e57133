package markdown

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/cli/highlight"
	"github.com/fettle-dev/fettle/cli/theme"
)

// Stream renders a growing source. Each final part is returned once; the results of
// Add and End, joined, equal the result of [Render] for the whole source, however it
// was split. It is not safe for concurrent use, and shares its highlighter.
type Stream struct {
	renderer *renderer
	splitter splitter
	rest     []byte // of an unfinished line
	printed  bool   // some output was returned
	inCode   bool   // a code block is open
}

// NewStream returns a Stream with an empty source; columns and theme are those of
// [Render]. Code has the colours that h finds; nil: none.
func NewStream(columns int, t theme.Theme, h *highlight.Highlighter) *Stream {
	return &Stream{renderer: newRenderer(max(columns, minColumns), t, h)}
}

// minColumns is the minimum wrapping width.
const minColumns = 10

// maxBlock is the maximum length of one block, in bytes of source.
const maxBlock = 64 << 10

// Add adds the next piece of the source, which may end anywhere, even within a
// character, and returns the lines that have become final, "" for none.
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

// Open renders the part that is not final yet, as if the source ended here. It does
// not change the stream. Its cost is proportional to the open part, at most 64 KiB:
// call it once per frame.
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

// End ends the source and returns the rest. The stream is empty then and can be
// reused.
func (s *Stream) End() (final string) {
	var b strings.Builder
	if len(s.rest) > 0 {
		s.line(&b)
	}
	s.show(&b, s.splitter.end())
	*s = Stream{renderer: newRenderer(s.renderer.columns, s.renderer.theme, s.renderer.highlighter)}
	return b.String()
}

// longLine treats the available part of a line that is too long as a line, without an
// incomplete character at its end.
func (s *Stream) longLine(b *strings.Builder) {
	n := wholeCharacters(s.rest)
	begun := bytes.Clone(s.rest[n:])
	s.rest = s.rest[:n]
	s.line(b)
	s.rest = append(s.rest, begun...)
}

// wholeCharacters returns the length of text without an incomplete character at its
// end.
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

// line adds a complete line.
func (s *Stream) line(b *strings.Builder) {
	for _, p := range s.splitter.line(s.rest) {
		s.show(b, p)
	}
	s.rest = s.rest[:0]
}

// show renders a final part of the source.
func (s *Stream) show(b *strings.Builder, p part) {
	var lines []string
	within := false // a block that was printed in part
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
