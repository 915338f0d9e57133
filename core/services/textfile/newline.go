package textfile

import "strings"

// Newline is how the lines of a text end. A carriage return alone ends none.
type Newline string

// The styles. NewlineNone, the zero value, is a text of at most one line,
// without an ending.
const (
	NewlineNone  Newline = ""
	NewlineLF    Newline = "lf"
	NewlineCRLF  Newline = "crlf"
	NewlineMixed Newline = "mixed"
)

// NewlineOf returns how the lines of text end.
func NewlineOf(text string) Newline {
	lf, crlf := countEndings(text)
	switch {
	case lf > 0 && crlf > 0:
		return NewlineMixed
	case crlf > 0:
		return NewlineCRLF
	case lf > 0:
		return NewlineLF
	}
	return NewlineNone
}

func countEndings(text string) (lf, crlf int) {
	all := strings.Count(text, "\n")
	if all > 0 && strings.IndexByte(text, '\r') >= 0 {
		crlf = strings.Count(text, "\r\n")
	}
	return all - crlf, crlf
}

// Lines returns the number of lines as an editor counts them: 2 for "a\nb"
// and for "a\nb\n", 0 for "".
func Lines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// Restyle gives text the line endings of like. Where those are all
// the same, text gets them throughout. Where they are mixed, a line that
// stands in like keeps its ending there, and any other takes the commoner
// one. Where like has none, text is returned as it is.
//
// Carriage returns before a line feed belong to the ending, so the result
// never has two of them there. Nothing but endings is changed, and whether
// the last line has one. Restyle is idempotent.
func Restyle(text, like string) string {
	lf, crlf := countEndings(like)
	switch {
	case lf == 0 && crlf == 0:
		return text
	case crlf == 0 && strings.IndexByte(text, '\r') < 0:
		return text
	case crlf == 0:
		return withEndings(text, func(int, string) string { return "\n" })
	case lf == 0:
		return withEndings(text, func(int, string) string { return "\r\n" })
	}
	commoner := "\n"
	if crlf > lf {
		commoner = "\r\n"
	}
	return restyleMixed(text, like, commoner)
}

// withEndings rewrites each line's ending as endingOf says, given the line's
// 0-based index and its content.
func withEndings(text string, endingOf func(i int, content string) string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/16)
	i := 0
	for line := range strings.Lines(text) {
		content, ended := cutEnding(line)
		b.WriteString(content)
		if ended {
			b.WriteString(endingOf(i, content))
		}
		i++
	}
	return b.String()
}

// cutEnding splits a line from its ending.
func cutEnding(line string) (content string, ended bool) {
	content, ended = strings.CutSuffix(line, "\n")
	if ended {
		content = strings.TrimRight(content, "\r")
	}
	return content, ended
}

// restyleMixed pairs the lines of text with those of like: equal ones at both
// ends by position, those between by content, in order.
func restyleMixed(text, like, commoner string) string {
	oldLines, newLines := endedLines(like), endedLines(text)
	head := 0
	for head < min(len(oldLines), len(newLines)) && oldLines[head].content == newLines[head].content {
		head++
	}
	tail := 0
	for tail < min(len(oldLines), len(newLines))-head &&
		oldLines[len(oldLines)-1-tail].content == newLines[len(newLines)-1-tail].content {
		tail++
	}
	between := make(map[string][]string)
	for _, l := range oldLines[head : len(oldLines)-tail] {
		between[l.content] = append(between[l.content], l.ending)
	}
	return withEndings(text, func(i int, content string) string {
		switch {
		case i < head:
			return oldLines[i].ending
		case i >= len(newLines)-tail:
			return oldLines[len(oldLines)-(len(newLines)-i)].ending
		}
		if left := between[content]; len(left) > 0 {
			between[content] = left[1:]
			return left[0]
		}
		return commoner
	})
}

type endedLine struct{ content, ending string }

// endedLines returns the lines that have an ending.
func endedLines(text string) []endedLine {
	lines := make([]endedLine, 0, strings.Count(text, "\n"))
	for line := range strings.Lines(text) {
		content, ended := cutEnding(line)
		if !ended {
			break
		}
		ending := "\n"
		if strings.HasSuffix(line, "\r\n") {
			ending = "\r\n"
		}
		lines = append(lines, endedLine{content, ending})
	}
	return lines
}
