package display

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// Screen is the stream that a person looks at, in pieces that are written
// whole. It is safe for concurrent use.
type Screen struct {
	mu   sync.Mutex
	W    io.Writer
	open bool // live output has not ended its line
}

// NewScreen returns one that writes to w.
func NewScreen(w io.Writer) *Screen { return &Screen{W: w} }

// Say prints a line or more, on lines of its own. It reports whether that was
// shown.
func (s *Screen) Say(format string, args ...any) bool {
	text := fmt.Sprintf(format, args...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open {
		text = "\n" + text
	}
	s.open = false
	_, err := io.WriteString(s.W, text)
	return err == nil
}

// Live prints a piece of live output where the last one ended; open says that
// its last line is not ended.
func (s *Screen) Live(text string, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = open
	_, _ = io.WriteString(s.W, text) // who cannot see it has the result
}

const (
	UsualColumns = 80  // of a terminal that does not tell
	mostColumns  = 100 // longer lines of prose are hard to read
)

// ColumnsOf returns how many characters go into a line of a stream, if it is a
// terminal.
func ColumnsOf(stream any) (columns int, ok bool) {
	if f, isFile := stream.(*os.File); isFile {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns, true
		}
	}
	return 0, false
}

// ProseColumns returns how many characters of prose go into a line of a stream,
// or other where it is no terminal.
func ProseColumns(stream any, other int) int {
	if columns, ok := ColumnsOf(stream); ok {
		return min(columns, mostColumns)
	}
	return other
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// WantsColour reports whether to colour what goes to a stream: it is a
// terminal, and NO_COLOR and TERM do not object.
func WantsColour(stream any) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && IsTerminal(stream)
}
