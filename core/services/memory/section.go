package memory

import "strings"

// insert returns text with the fact as the last line of the section of that
// heading, and with the section at its end where there is none. A section that
// has the fact leaves text as it is. Nothing is taken out of text, and nothing
// in it is changed.
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
	case strings.TrimSpace(lastLine(text)) == "": // there is a blank line
	default:
		section = "\n" + section
	}
	return put(text, len(text), section)
}

// put inserts lines at the head of a line of text, or at its end, with the
// line endings that are there.
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

// ending returns how the nearest line that is ended ends, one before the place
// first.
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

// section is what was found of the section.
type section struct {
	end int  // behind its last line that is not blank; -1: there is no section
	has bool // it has the fact
}

// find looks for the section and the fact in it. A section goes on to the next
// heading of the first or second level. What stands in a fenced block is no
// heading, unless a block is never closed: then nobody can tell what was meant
// to stand in one.
func find(text, heading, item string) section {
	s, closed := search(text, heading, item, fenceAfter)
	if !closed {
		s, _ = search(text, heading, item, func(string, string) string { return "" })
	}
	return s
}

// search is find, given which fence is open after a line. It reports whether
// all are closed at the end.
func search(text, heading, item string, next func(fence, line string) string) (s section, closed bool) {
	s.end = -1
	var fence string // that opened the block; "" outside of one
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

// fenceAfter returns the fence of the block that is open after a line, given
// the one that was before it.
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

// unindent cuts the up to three blanks that a heading or a fence may have
// before it; not ok if there are more.
func unindent(line string) (string, bool) {
	cut := strings.TrimLeft(line, " ")
	return cut, len(line)-len(cut) <= 3
}
