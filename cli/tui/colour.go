package tui

import (
	"strings"
	"sync"
	"time"
)

// Limits of the time for finding the colours of code.
const (
	colourFor    = 6 * time.Millisecond   // in one frame
	colourAllFor = 500 * time.Millisecond // at the end of the session
)

// colourMsg requests a frame with more colours.
type colourMsg struct{}

// colour limits the time for the colours of a frame. A long answer that becomes visible
// at once gets its colours over several frames, so that none is late.
func (m *screen) colour() (missed int) {
	if m.patience > 0 {
		m.colours.Until(time.Now().Add(m.patience))
	}
	return m.colours.Missed()
}

// colourRest schedules the next frame if colours are missing.
func (m *screen) colourRest(missed int) {
	if m.colours.Missed() == missed || m.colouring {
		return
	}
	m.pass++
	m.colouring = true
	m.h.after(tickEvery/5, colourMsg{})
}

// shown returns a line for the terminal: one that shows only ASCII gets other marks
// and rules, of the same width.
func (m *screen) shown(line string) string {
	if !m.look.ASCII {
		return line
	}
	return asciiMarks().Replace(line)
}

// asciiMarks replaces the marks and rules of the screen by ASCII characters of the same
// width.
var asciiMarks = sync.OnceValue(func() *strings.Replacer {
	var pairs []string
	for _, group := range []struct{ marks, by string }{
		{"─━┄−–—", "-"}, {"│┃┆", "|"}, {"╭╮╰╯├┤┬┴┼", "+"}, {"⋯·", "."}, {"…", "~"}, {"•●◆⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "*"}, {"◦○◌", "o"}, {"▪", "+"}, {"█", "#"}, {"░", "."}, {"∴", ":"}, {"✓", "v"}, {"✗", "x"},
		{"↑", "^"}, {"↓", "v"}, {"←", "<"}, {"→↪▸›", ">"}, {"␍", "$"}, {"“”", `"`}, {"‘’", "'"},
	} {
		for _, mark := range group.marks {
			pairs = append(pairs, string(mark), group.by)
		}
	}
	return strings.NewReplacer(pairs...)
})
