package patch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// draft is a diff to which mistakes can still be applied.
type draft struct {
	preamble []string // lines before the file header
	names    []string // the file header; nil: none
	hunks    []draftHunk
	epilogue []string
	crlf     bool // transport: every line ends in CR LF
	noEnd    bool // the text has no final newline
}

type draftHunk struct {
	at                 int      // the place of its first old line, 0-based
	adds               []string // the lines that it should add
	places             []int    // places at which it fits exactly in its correct form
	header             string   // replaces the numbers
	oldStart, oldCount int
	newStart, newCount int
	lines              []line
	blankStripped      bool
	spaced             bool // an empty line follows
}

func (d draft) String() string {
	var b strings.Builder
	eol := "\n"
	if d.crlf {
		eol = "\r\n"
	}
	for _, s := range slices.Concat(d.preamble, d.names) {
		b.WriteString(s + eol)
	}
	for _, h := range d.hunks {
		if h.header != "" {
			b.WriteString(h.header + eol)
		} else {
			fmt.Fprintf(&b, "@@ -%s +%s @@%s", span(h.oldStart, h.oldCount), span(h.newStart, h.newCount), eol)
		}
		for _, l := range h.lines {
			if l.op != gitdiff.OpContext || l.text != "" || !h.blankStripped {
				b.WriteString(l.op.String())
			}
			b.WriteString(l.text)
			if !d.crlf {
				b.WriteString(strings.Repeat("\r", l.cr))
			}
			b.WriteString(eol)
			if l.noEOL {
				b.WriteString(noNewline + eol)
			}
		}
		if h.spaced {
			b.WriteString(eol)
		}
	}
	for _, s := range d.epilogue {
		b.WriteString(s + eol)
	}
	if d.noEnd {
		return strings.TrimSuffix(b.String(), eol)
	}
	return b.String()
}

func span(start, count int) string {
	if count == 1 {
		return fmt.Sprint(start)
	}
	return fmt.Sprintf("%d,%d", start, count)
}

func (d draft) clone() draft {
	d.hunks = slices.Clone(d.hunks)
	for i := range d.hunks {
		d.hunks[i].lines = slices.Clone(d.hunks[i].lines)
	}
	return d
}
