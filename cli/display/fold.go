package display

import "strings"

// Fold wraps the lines of text that are wider than columns, at blanks where possible.
// A continuation line starts with the indentation of its line, followed by hang.
// Other blanks are unchanged, and styles have no width. It is for prose only, because
// a line feed in a command has a meaning.
func Fold(text, hang string, columns int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		foldLine(&b, line, hang, columns)
	}
	return b.String()
}

func foldLine(b *strings.Builder, line, hang string, columns int) {
	if Width(strings.TrimRight(line, "\n")) <= columns {
		b.WriteString(line)
		return
	}
	body := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(body)]
	used := len(indent)
	b.WriteString(indent)
	for {
		word, rest, more := strings.Cut(body, " ")
		b.WriteString(word)
		used += Width(word)
		if !more {
			return
		}
		next := strings.TrimLeft(rest, " ")
		blanks := 1 + len(rest) - len(next)
		following, _, _ := strings.Cut(strings.TrimRight(next, "\n"), " ")
		if following != "" && used+blanks+Width(following) > columns {
			b.WriteString("\n" + indent + hang)
			used = len(indent) + Width(hang)
		} else {
			b.WriteString(strings.Repeat(" ", blanks))
			used += blanks
		}
		body = next
	}
}
