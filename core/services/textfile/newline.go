package textfile

import "strings"

// Newline is the style of line endings of a text. A carriage return alone is not a line ending.
type Newline string

// The styles. NewlineNone, the zero value, is the style of a text without a line ending.
const (
	NewlineNone  Newline = ""
	NewlineLF    Newline = "lf"
	NewlineCRLF  Newline = "crlf"
	NewlineMixed Newline = "mixed"
)

// NewlineOf returns the style of line endings of text.
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

// Restyle returns text with the line endings of like. If these are uniform, all lines get them. If
// they are mixed, a line that occurs in like gets its ending there, and any other line the more
// common ending. If like has none, text is returned unchanged.
//
// Carriage returns before a line feed are part of the ending, so the result never has two of them
// there. Only endings change, and a last line without an ending stays without one. Restyle is
// idempotent.
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

// withEndings replaces the ending of each line with the result of endingOf for its 0-based index
// and content.
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

// restyleMixed pairs the lines of text with those of like: equal lines at both ends by position,
// and the lines between them by content, in order.
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
