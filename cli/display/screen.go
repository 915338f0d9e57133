package display

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// Screen is the user's output stream; each write is atomic. It is safe for concurrent
// use.
type Screen struct {
	mu     sync.Mutex
	W      io.Writer
	open   bool            // live output has not ended its line
	prompt string          // the line that the user answers; "": none
	asking context.Context // of the prompt
	hidden bool            // live output follows the prompt
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
	s.open, s.hidden = false, false
	if s.prompted() { // other output came between: repeat the line below it
		text = strings.TrimSuffix(text, "\n") + "\n" + s.prompt
		s.open = true
	}
	_, err := io.WriteString(s.W, text)
	return err == nil
}

// Prompt prints a line that the user answers. Until [Screen.Answered] is called, other
// output begins on a new line, and the prompt is repeated below it unless ctx has ended.
// It reports whether the write succeeded.
func (s *Screen) Prompt(ctx context.Context, text string) bool {
	ok := s.Printf("%s", text)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prompt, s.asking, s.open = text, ctx, true
	return ok
}

// prompted reports whether a line waits for the user's answer.
func (s *Screen) prompted() bool { return s.prompt != "" && s.asking.Err() == nil }

// Answered ends the prompt: the input has ended its line.
func (s *Screen) Answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prompt, s.asking, s.open, s.hidden = "", nil, false, false
}

// Live prints a piece of live output after the previous one; open means that its last
// line is not ended.
func (s *Screen) Live(text string, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prompted() {
		if !s.hidden {
			text = "\n" + text
		}
		if s.hidden = open; !open {
			text = strings.TrimSuffix(text, "\n") + "\n" + s.prompt
			open = true
		}
	}
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
