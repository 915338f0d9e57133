package cli

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// fold breaks the lines of text that have more characters than fit into so many
// columns, at blanks as far as there are any. What follows a break begins as its
// line does, and behind hang. Blanks are not changed elsewhere, and colours
// take no room. It is for prose: a line feed in a command means something.
func fold(text, hang string, columns int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		foldLine(&b, line, hang, columns)
	}
	return b.String()
}

func foldLine(b *strings.Builder, line, hang string, columns int) {
	if width(strings.TrimRight(line, "\n")) <= columns {
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
		used += width(word)
		if !more {
			return
		}
		next := strings.TrimLeft(rest, " ")
		blanks := 1 + len(rest) - len(next)
		following, _, _ := strings.Cut(strings.TrimRight(next, "\n"), " ")
		if following != "" && used+blanks+width(following) > columns {
			b.WriteString("\n" + indent + hang)
			used = len(indent) + len(hang)
		} else {
			b.WriteString(strings.Repeat(" ", blanks))
			used += blanks
		}
		body = next
	}
}

// width counts the characters of text, colours left out.
func width(text string) int {
	return utf8.RuneCountInString(colours.ReplaceAllLiteralString(text, ""))
}

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")
