package cli

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// screen is the stream that a person looks at, in pieces that are written
// whole. It is safe for concurrent use.
type screen struct {
	mu   sync.Mutex
	w    io.Writer
	open bool // live output has not ended its line
}

// say prints a line or more, on lines of its own. It reports whether that was
// shown.
func (s *screen) say(format string, args ...any) bool {
	text := fmt.Sprintf(format, args...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open {
		text = "\n" + text
	}
	s.open = false
	_, err := io.WriteString(s.w, text)
	return err == nil
}

// live prints a piece of live output where the last one ended; open says that
// its last line is not ended.
func (s *screen) live(text string, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = open
	_, _ = io.WriteString(s.w, text) // who cannot see it has the result
}

const (
	usualColumns = 80
	mostColumns  = 100 // longer lines of prose are hard to read
)

// columnsOf returns how many characters go into a line of a stream, if it is a
// terminal.
func columnsOf(stream any) (columns int, ok bool) {
	if f, isFile := stream.(*os.File); isFile {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns, true
		}
	}
	return 0, false
}

// proseColumns returns how many characters of prose go into a line of a stream,
// or other where it is no terminal.
func proseColumns(stream any, other int) int {
	if columns, ok := columnsOf(stream); ok {
		return min(columns, mostColumns)
	}
	return other
}
