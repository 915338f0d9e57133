package markdown

import (
	"bytes"
	"strings"
)

// splitter splits a source into parts that can be rendered independently, looking at
// its lines only: it splits only where no Markdown block can continue. Top-level code
// blocks are split into lines.
type splitter struct {
	block []byte // lines of the open block
	blank bool   // its last line is blank

	list   bool // a list item may be open
	offset int  // the column of the item's content

	until string // the text that ends the open HTML block, in lower case; "": none

	fence       byte // of the open code block: ` or ~, 0 for none
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
	partFence                 // the start of a code block with its info string
	partCode                  // a line of that code
)

func (s *splitter) clone() splitter {
	c := *s
	c.block = bytes.Clone(s.block)
	return c
}

// end returns the open block.
func (s *splitter) end() part {
	block := s.block
	*s = splitter{}
	return part{partBlock, block}
}

// line adds a line, and returns the parts that it completes.
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

// flush ends the open block.
func (s *splitter) flush() []part {
	block := s.block
	s.block, s.blank, s.list, s.offset = nil, false, false, 0
	if len(block) == 0 {
		return nil
	}
	return []part{{partBlock, block}}
}

// codeLine adds a line of the open code block.
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

// openFence reports whether a line starts a code block.
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

// fenceLabel returns the info string of a fence.
func fenceLabel(body string) string { return strings.TrimSpace(strings.TrimLeft(body, "`~")) }

// beginHTML detects HTML that blank lines do not end.
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

// endHTML ends the open HTML block if the line contains its end.
func (s *splitter) endHTML(body string) {
	if strings.Contains(strings.ToLower(body), s.until) {
		s.until = ""
	}
}

// indentation returns the columns of leading blanks and tabs, and the rest of the
// line, "" for a blank line.
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

// isHeading reports whether a line is a heading with #.
func isHeading(body string) bool {
	rest := strings.TrimLeft(body, "#")
	n := len(body) - len(rest)
	return n >= 1 && n <= 6 && (rest == "" || rest[0] == ' ' || rest[0] == '\t')
}

// listMarker reports whether a line starts a list item, and the offset of the item's
// content from its marker.
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
