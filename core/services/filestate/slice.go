package filestate

import (
	"bytes"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/services/textfile"
)

// slice is a run of whole lines of a text.
type slice struct {
	text       string
	first, end int // lines shown, 0-based, half-open
	total      int
	cut        bool // a limit ended it before the requested end
	inside     bool // its only line alone exceeds the limit of bytes, so a part of that line is shown
}

// cutLines returns limit lines from line offset on, at most maxBytes of text. limit <= 0 means
// maxLines; more lines than that count as a cut. A line is truncated only if it alone exceeds
// maxBytes.
func cutLines(text string, offset, limit, maxLines, maxBytes int) slice {
	s := slice{first: offset, end: offset, total: textfile.Lines(text)}
	want, capped := limit, false
	if limit <= 0 {
		want, capped = maxLines, true
	}
	if offset == 0 && s.total <= want && len(text) <= maxBytes {
		s.text, s.end = text, s.total
		return s
	}
	start := skipLines(text, offset)
	at := start
	for s.end < s.total && s.end-offset < want {
		next := len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		if next-start > maxBytes {
			s.cut = true
			if at == start {
				s.inside = true
				at = start + len(escape.Head(text[start:], maxBytes))
				s.end++
			}
			break
		}
		at = next
		s.end++
	}
	if capped && s.end < s.total {
		s.cut = true
	}
	s.text = strings.Clone(text[start:at]) // so that the rest of the file can be freed
	return s
}

// skipLines returns the index at which line n (0-based) begins.
func skipLines(text string, n int) int {
	at := 0
	for ; n > 0; n-- {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
	}
	return at
}

// lineCounter counts the lines of a stream as [textfile.Lines] counts those of a string.
type lineCounter struct {
	breaks int
	open   bool // bytes follow the last line break
}

func (c *lineCounter) write(b []byte) {
	if len(b) == 0 {
		return
	}
	c.breaks += bytes.Count(b, []byte{'\n'})
	c.open = b[len(b)-1] != '\n'
}

func (c *lineCounter) lines() int {
	if c.open {
		return c.breaks + 1
	}
	return c.breaks
}
