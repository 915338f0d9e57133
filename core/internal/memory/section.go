package memory

import "strings"

// insert returns text with the fact as the last line of the section. A missing section is added at
// the end. A section that already has the fact leaves text unchanged. Nothing in text is removed or
// changed.
func insert(text, heading, fact string) string {
	item := "- " + fact
	found := find(text, heading, item)
	switch {
	case found.has:
		return text
	case found.end >= 0:
		return put(text, found.end, item)
	}
	section := heading + "\n" + item
	switch {
	case text == "":
	case strings.TrimSpace(lastLine(text)) == "": // it ends with a blank line
	default:
		section = "\n" + section
	}
	return put(text, len(text), section)
}

// put inserts lines at the beginning of a line of text, or at its end, with the line endings of the
// text.
func put(text string, at int, lines string) string {
	before, after := text[:at], text[at:]
	if before != "" && !strings.HasSuffix(before, "\n") {
		lines = "\n" + lines
	}
	lines += "\n"
	if ending(text, at) == "\r\n" {
		lines = strings.ReplaceAll(lines, "\n", "\r\n")
	}
	return before + lines + after
}

// ending returns the ending of the nearest terminated line, preferably one before the position.
func ending(text string, at int) string {
	end := strings.LastIndexByte(text[:at], '\n')
	if end < 0 {
		end = strings.IndexByte(text, '\n')
	}
	if end > 0 && text[end-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// lastLine returns the last line of text without its ending.
func lastLine(text string) string {
	text = strings.TrimSuffix(text, "\n")
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// section is the result of find.
type section struct {
	end int  // offset after the last line that is not blank; -1: no section
	has bool // the section has the fact
}

// find searches for the section and for the fact in it. A section extends to the next heading of
// the first or second level. A line in a fenced block is not a heading. If a block is never closed,
// its extent is ambiguous and fences are ignored.
func find(text, heading, item string) section {
	s, closed := search(text, heading, item, fenceAfter)
	if !closed {
		s, _ = search(text, heading, item, func(string, string) string { return "" })
	}
	return s
}

// search is find with a function that returns the open fence after a line. It reports whether all
// fences are closed at the end.
func search(text, heading, item string, next func(fence, line string) string) (s section, closed bool) {
	s.end = -1
	var fence string // that opened the block; "" outside of a block
	at, over := 0, false
	for line := range strings.Lines(text) {
		at += len(line)
		content := strings.TrimRight(line, " \t\r\n")
		inside := fence != ""
		fence = next(fence, content)
		switch {
		case over:
		case s.end < 0:
			if !inside && content == heading {
				s.end = at
			}
		case !inside && isHeading(content):
			over = true
		case content != "":
			s.end = at
			s.has = s.has || !inside && content == item
		}
	}
	return s, fence == ""
}

// isHeading reports whether a line is a heading of the first or second level.
func isHeading(line string) bool {
	line, ok := unindent(line)
	if !ok {
		return false
	}
	level := len(line) - len(strings.TrimLeft(line, "#"))
	return (level == 1 || level == 2) && (len(line) == level || line[level] == ' ' || line[level] == '\t')
}

// fenceAfter returns the fence of the open block after a line, from the fence before it.
func fenceAfter(fence, line string) string {
	line, ok := unindent(line)
	if !ok || line == "" || line[0] != '`' && line[0] != '~' {
		return fence
	}
	run := line[:len(line)-len(strings.TrimLeft(line, line[:1]))]
	switch rest := line[len(run):]; {
	case len(run) < 3:
	case fence == "":
		if run[0] == '~' || !strings.Contains(rest, "`") {
			return run
		}
	case run[0] == fence[0] && len(run) >= len(fence) && rest == "":
		return ""
	}
	return fence
}

// unindent removes up to three blanks before a heading or a fence; it reports false if there are
// more.
func unindent(line string) (string, bool) {
	cut := strings.TrimLeft(line, " ")
	return cut, len(line)-len(cut) <= 3
}
