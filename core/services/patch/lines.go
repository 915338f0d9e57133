package patch

import "strings"

// splitLines splits text after every line feed. Each line keeps its ending; the last one has none
// if the text does not end in a line feed.
func splitLines(text string) []string {
	lines := make([]string, 0, countLines(text))
	for text != "" {
		i := strings.IndexByte(text, '\n') + 1
		if i == 0 {
			i = len(text)
		}
		lines = append(lines, text[:i])
		text = text[i:]
	}
	return lines
}

// countLines returns the number of lines of text; see splitLines.
func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// content returns a line without its ending, LF or CR LF. Further CR before it, and those at the
// end of a last line without LF, count as part of the ending, because a diff cannot distinguish
// them.
func content(line string) string {
	return strings.TrimRight(strings.TrimSuffix(line, "\n"), "\r")
}

// ending returns the line ending of a line: its line feed and all CR before it, "" for a last line
// without one.
func ending(line string) string {
	if !strings.HasSuffix(line, lf) {
		return ""
	}
	return line[len(content(line)):]
}

// isBlank reports whether a line consists of white space.
func isBlank(line string) bool { return strings.Trim(line, whiteSpace+"\n") == "" }
