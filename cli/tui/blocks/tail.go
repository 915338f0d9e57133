package blocks

import (
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/escape"
)

// Limits of the live output kept for a call.
const (
	MaxTailLines = 500
	MaxTailLine  = 1 << 10 // bytes
)

// tail keeps the last lines of live output, filtered. A carriage return restarts its
// line, as on a terminal.
type tail struct {
	filter  display.ANSIFilter
	most    int
	kept    []string
	open    string // the unfinished line
	restart bool   // the next text restarts it
	dropped int    // lines dropped before kept
	version int
}

func newTail(most int) *tail { return &tail{most: most} }

func (t *tail) add(text string) {
	t.version++
	text = t.filter.Filter(text)
	for text != "" {
		part, rest, end := text, "", byte(0)
		if i := strings.IndexAny(text, "\r\n"); i >= 0 {
			part, rest, end = text[:i], text[i+1:], text[i]
		}
		t.write(part)
		switch end {
		case '\r':
			t.restart = true
		case '\n':
			t.kept = append(t.kept, t.open)
			t.open, t.restart = "", false
		}
		text = rest
	}
	if over := len(t.kept) - t.most; over > 0 {
		t.dropped += over
		t.kept = append([]string(nil), t.kept[over:]...)
	}
}

// write appends to the unfinished line.
func (t *tail) write(part string) {
	if part == "" {
		return
	}
	if t.restart {
		t.open, t.restart = "", false
	}
	if room := MaxTailLine - len(t.open); len(part) > room {
		part = escape.Head(part, room)
	}
	t.open += part
}

// lines returns the kept lines, wrapped.
func (t *tail) lines(columns int) []string {
	var lines []string
	for _, line := range t.kept {
		lines = append(lines, display.Break(display.Untab(line, 0), columns)...)
	}
	if t.open != "" {
		lines = append(lines, display.Break(display.Untab(t.open, 0), columns)...)
	}
	return lines
}

// Bytes returns the size of the kept text.
func (t *tail) Bytes() int {
	n := len(t.open)
	for _, line := range t.kept {
		n += len(line)
	}
	return n
}
