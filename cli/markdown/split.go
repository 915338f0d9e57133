package markdown

import (
	"bytes"
	"strings"
)

// splitter cuts a source into parts that can be rendered each on its own, from
// its lines alone: a cut is made only where no block of Markdown can go on.
// Blocks of code that stand alone come line by line.
type splitter struct {
	block []byte // lines of the block that is open
	blank bool   // its last line is blank

	list   bool // an item of a list may be open
	offset int  // the column where what belongs to that item begins

	until string // what ends the HTML that is open, in small letters; "" is none

	fence       byte // of the code that is open: ` or ~, 0 for none
	fenceLength int
	fenceIndent int
}

// part is a piece of a source.
type part struct {
	kind partKind
	text []byte
}

type partKind int

const (
	partBlock partKind = iota // one or more blocks
	partFence                 // the begin of a block of code: what is said behind the fence
	partCode                  // a line of that code
)

func (s *splitter) clone() splitter {
	c := *s
	c.block = bytes.Clone(s.block)
	return c
}

// end returns the block that is open.
func (s *splitter) end() part {
	block := s.block
	*s = splitter{}
	return part{partBlock, block}
}

// line takes a line, and returns the parts that it completes.
func (s *splitter) line(line []byte) (parts []part) {
	if s.fence != 0 {
		return s.codeLine(line)
	}
	indent, body := indentation(string(line))
	switch {
	case s.until != "":
		s.endHTML(body)
	case body == "":
		s.blank = true
		if len(s.block) == 0 {
			return nil
		}
	default:
		within := s.list && indent >= s.offset // the open item
		if !within && indent < 4 {
			if s.openFence(body, indent) {
				return append(s.flush(), part{partFence, []byte(fenceLabel(body))})
			}
			if isHeading(body) {
				return append(s.flush(), part{partBlock, bytes.Clone(line)})
			}
			offset, marker := listMarker(body)
			if s.blank && !(s.list && marker) {
				parts = s.flush()
			}
			if marker {
				s.list, s.offset = true, indent+offset
			}
			s.beginHTML(body)
		}
		s.blank = false
	}
	s.block = append(s.block, line...)
	if len(s.block) >= maxBlock {
		parts = append(parts, s.flush()...)
	}
	return parts
}

// flush ends the block that is open.
func (s *splitter) flush() []part {
	block := s.block
	s.block, s.blank, s.list, s.offset = nil, false, false, 0
	if len(block) == 0 {
		return nil
	}
	return []part{{partBlock, block}}
}

// codeLine takes a line of the code that is open.
func (s *splitter) codeLine(line []byte) []part {
	text := strings.TrimSuffix(string(line), "\n")
	indent, body := indentation(text)
	fence := strings.TrimRight(body, " \t")
	if indent < 4 && len(fence) >= s.fenceLength && strings.Trim(fence, string(s.fence)) == "" {
		s.fence = 0
		return nil
	}
	for n := s.fenceIndent; n > 0 && strings.HasPrefix(text, " "); n-- {
		text = text[1:]
	}
	return []part{{partCode, []byte(text)}}
}

// openFence reports whether a line begins a block of code.
func (s *splitter) openFence(body string, indent int) bool {
	c := body[0]
	if c != '`' && c != '~' {
		return false
	}
	n := len(body) - len(strings.TrimLeft(body, string(c)))
	if n < 3 || c == '`' && strings.Contains(body[n:], "`") {
		return false
	}
	s.fence, s.fenceLength, s.fenceIndent = c, n, indent
	return true
}

// fenceLabel is what is said behind a fence.
func fenceLabel(body string) string { return strings.TrimSpace(strings.TrimLeft(body, "`~")) }

// beginHTML notes HTML that blank lines do not end.
func (s *splitter) beginHTML(body string) {
	if body[0] != '<' {
		return
	}
	low := strings.ToLower(body)
	for _, kind := range []struct{ begin, end string }{
		{"<script", "</script>"}, {"<pre", "</pre>"}, {"<style", "</style>"}, {"<textarea", "</textarea>"},
		{"<!--", "-->"}, {"<?", "?>"}, {"<![cdata[", "]]>"}, {"<!", ">"},
	} {
		if strings.HasPrefix(low, kind.begin) {
			s.until = kind.end
			s.endHTML(low[len(kind.begin):])
			return
		}
	}
}

// endHTML ends the HTML that is open if a line does.
func (s *splitter) endHTML(body string) {
	if strings.Contains(strings.ToLower(body), s.until) {
		s.until = ""
	}
}

// indentation returns the columns of blanks and tabs that a line begins with, and
// the rest of it, "" for a blank line.
func indentation(line string) (columns int, body string) {
	body = strings.TrimLeft(line, " \t")
	for _, c := range line[:len(line)-len(body)] {
		columns++
		if c == '\t' {
			columns = (columns + 3) / 4 * 4
		}
	}
	return columns, strings.TrimRight(body, " \t\r\n")
}

// isHeading reports whether a line is a heading, as # is.
func isHeading(body string) bool {
	rest := strings.TrimLeft(body, "#")
	n := len(body) - len(rest)
	return n >= 1 && n <= 6 && (rest == "" || rest[0] == ' ' || rest[0] == '\t')
}

// listMarker reports whether a line begins an item of a list, and how far behind
// the marker's begin the item's text stands.
func listMarker(body string) (offset int, ok bool) {
	n := 0
	for n < len(body) && n < 9 && body[n] >= '0' && body[n] <= '9' {
		n++
	}
	if n == 0 && !strings.ContainsAny(body[:1], "-+*") || n > 0 && (n == len(body) || body[n] != '.' && body[n] != ')') {
		return 0, false
	}
	blanks, text := indentation(body[n+1:])
	switch {
	case text == "":
		return n + 2, true
	case blanks == 0:
		return 0, false
	case blanks > 4:
		blanks = 1 // the rest is code
	}
	return n + 1 + blanks, true
}
