package applypatch

import (
	"slices"
	"strings"
)

// Markers, as returned by [mark].
const (
	beginMark     = "begin patch"
	endMark       = "end patch"
	endOfFileMark = "end of file"
	addMark       = "add file"
	updateMark    = "update file"
	deleteMark    = "delete file"
	moveMark      = "move to"
)

// known returns the marker that models mean by name.
func known(name string) string {
	switch name {
	case "create file", "new file":
		return addMark
	case "modify file", "edit file", "change file":
		return updateMark
	case "remove file":
		return deleteMark
	case "rename to", "move file to":
		return moveMark
	}
	return name
}

// isMark reports whether a line is a marker, known or not.
func isMark(line string) bool {
	name, _ := mark(line)
	return name != ""
}

// isInner reports whether a line is a marker within a file's section.
func isInner(line string) bool {
	name, _ := mark(line)
	return name == endOfFileMark || name == moveMark
}

// mark returns the name of the marker in a line, in lower case, and the text after its colon and a
// blank. name is "" if the line is not a marker.
func mark(line string) (name, argument string) {
	rest, ok := strings.CutPrefix(line, "*** ")
	if !ok {
		return "", ""
	}
	name, argument, _ = strings.Cut(rest, ":")
	return known(strings.ToLower(strings.Join(strings.Fields(name), " "))), strings.TrimPrefix(strings.TrimRight(argument, "\r\n"), " ")
}

// name returns the path that the argument of a marker means: without white space and then quotes or
// backticks around it, unless a file has the whole name.
func (p *parser) name(argument string) string {
	trimmed := strings.TrimSpace(argument)
	if argument != trimmed && p.exists != nil && p.exists(argument) {
		return argument
	}
	return unquote(trimmed)
}

// QuoteName returns a path as the argument of a marker that means exactly this path.
func QuoteName(name string) string {
	if strings.TrimSpace(name) == name && unquote(name) == name {
		return name
	}
	return `"` + name + `"`
}

// unquote returns a path without quotes or backticks around it.
func unquote(name string) string {
	if n := len(name); n > 2 && name[0] == name[n-1] && strings.ContainsRune("\"'`", rune(name[0])) {
		return name[1 : n-1]
	}
	return name
}

// blank reports whether lines consist of white space.
func blank(lines []string) bool {
	return !slices.ContainsFunc(lines, func(s string) bool { return strings.TrimSpace(s) != "" })
}

// splitLines splits text after every line feed.
func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
