package display

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// Screen is the user's output stream; each write is atomic. It is safe for concurrent
// use.
type Screen struct {
	mu   sync.Mutex
	W    io.Writer
	open bool // live output has not ended its line
}

// NewScreen returns a Screen that writes to w.
func NewScreen(w io.Writer) *Screen { return &Screen{W: w} }

// Printf prints formatted text, starting on a new line. It reports whether the write
// succeeded.
func (s *Screen) Printf(format string, args ...any) bool {
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

// Live prints a piece of live output after the previous one; open means that its last
// line is not ended.
func (s *Screen) Live(text string, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = open
	_, _ = io.WriteString(s.W, text) // without a screen, the result remains
}

const (
	UsualColumns = 80  // if a terminal does not report its width
	mostColumns  = 100 // longer lines of prose are hard to read
)

// ColumnsOf returns the width of a stream, if it is a terminal.
func ColumnsOf(stream any) (columns int, ok bool) {
	if f, isFile := stream.(*os.File); isFile {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns, true
		}
	}
	return 0, false
}

// ProseColumns returns the line width for prose on a stream, or other if it is not a
// terminal.
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

// WantsColour reports whether output to a stream is coloured: it is a terminal, and
// NO_COLOR and TERM allow it.
func WantsColour(stream any) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && IsTerminal(stream)
}
