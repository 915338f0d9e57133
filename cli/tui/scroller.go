package tui

import (
	"fmt"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// scroller is a window on lines that do not fit.
type scroller struct {
	offset int
	total  int // lines, as shown last
	rows   int // of the window, as shown last
}

// redrawn keeps the place when the lines are rendered anew, as for another width: the
// end if that was in view, else what stood at the top. Letters and digits tell where
// that is, as they stay the same however lines are broken, indented and marked.
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
		s.offset++ // the window goes back from behind the end
	}
}

// letters counts the letters and digits that are seen of a line.
func letters(line string) (n int) {
	for _, r := range ansi.Strip(line) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// window returns the lines that are in view.
func (s *scroller) window(lines []string, rows int) []string {
	s.total, s.rows = len(lines), max(rows, 0)
	s.scroll(0)
	return lines[s.offset:min(s.offset+s.rows, len(lines))]
}

func (s *scroller) scroll(n int) {
	s.offset = max(0, min(s.offset+n, s.total-s.rows))
}

// key scrolls by a key, and reports whether it is one that does.
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

// where says what is in view, "" while that is all.
func (s *scroller) where() string {
	if s.total <= s.rows {
		return ""
	}
	return fmt.Sprintf("%d–%d of %d, ↑↓ pgup pgdn", s.offset+1, min(s.offset+s.rows, s.total), s.total)
}
