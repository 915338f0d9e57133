package markdown

import (
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/theme"
)

// Stream renders a source that grows. What has become final is handed out once;
// what Add and End have returned, joined, is what [Render] returns for the whole
// source, however it was cut. It is not for concurrent use.
type Stream struct {
	width   int
	theme   theme.Theme
	pending strings.Builder
}

// NewStream returns the rendering of an empty source.
func NewStream(width int, t theme.Theme) *Stream { return &Stream{width: width, theme: t} }

// Add takes the next piece of the source, which may end within a character, and
// returns the lines that have become final by it, "" for none.
func (s *Stream) Add(piece string) (final string) {
	s.pending.WriteString(piece)
	return ""
}

// Open renders what is not final yet, as if the source ended here. It changes
// nothing, and costs about what is open: call it once for each frame.
func (s *Stream) Open() string {
	return display.Fold(display.Printable(s.pending.String()), "", s.width)
}

// End ends the source, and returns the rest. The stream is empty then, and can be
// used again.
func (s *Stream) End() (final string) {
	final = s.Open()
	s.pending.Reset()
	return final
}
