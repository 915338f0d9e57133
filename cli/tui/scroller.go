package tui

import (
	"fmt"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// scroller is a scrollable window on lines.
type scroller struct {
	offset int
	total  int // number of lines, as last displayed
	rows   int // of the window, as last displayed
}

// redrawn keeps the position when the lines are rendered again, for example at
// another width: the end if it was visible, otherwise the line at the top. The
// position is counted in letters and digits, because wrapping, indentation and
// markers do not change them.
func (s *scroller) redrawn(before, after []string) {
	if s.offset == 0 {
		return
	}
	atEnd := s.offset+s.rows >= s.total
	passed := 0
	for _, line := range before[:min(s.offset, len(before))] {
		passed += letters(line)
	}
	s.total = len(after)
	s.offset = 0
	for _, line := range after {
		if passed -= letters(line); passed < 0 && !atEnd {
			break
		}
		s.offset++ // moves the window up from below the end
	}
}

// letters counts the visible letters and digits of a line.
func letters(line string) (n int) {
	for _, r := range ansi.Strip(line) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// window returns the visible lines.
func (s *scroller) window(lines []string, rows int) []string {
	s.total, s.rows = len(lines), max(rows, 0)
	s.scroll(0)
	return lines[s.offset:min(s.offset+s.rows, len(lines))]
}

func (s *scroller) scroll(n int) {
	s.offset = max(0, min(s.offset+n, s.total-s.rows))
}

// key scrolls, and reports whether the key was a scroll key.
func (s *scroller) key(stroke string) bool {
	switch stroke {
	case "up":
		s.scroll(-1)
	case "down":
		s.scroll(1)
	case "pgup", "ctrl+b":
		s.scroll(-max(s.rows-1, 1))
	case "pgdown", "ctrl+f", "space":
		s.scroll(max(s.rows-1, 1))
	case "ctrl+u":
		s.scroll(-max(s.rows/2, 1))
	case "ctrl+d":
		s.scroll(max(s.rows/2, 1))
	case "home":
		s.scroll(-s.total)
	case "end":
		s.scroll(s.total)
	default:
		return false
	}
	return true
}

// where describes the visible range and the keys; it returns "" if everything is
// visible.
func (s *scroller) where() string {
	if position := s.position(); position != "" {
		return position + ", ↑↓ pgup pgdn"
	}
	return ""
}

// position describes the visible range; it returns "" if everything is visible.
func (s *scroller) position() string {
	if s.total <= s.rows {
		return ""
	}
	return fmt.Sprintf("%d–%d of %d", s.offset+1, min(s.offset+s.rows, s.total), s.total)
}
