package display

import "strings"

// PlainMarkdown returns source without the backslashes that escape punctuation, for output
// that shows Markdown as it is. Code keeps its backslashes.
func PlainMarkdown(source string) string {
	var b strings.Builder
	fence := "" // of the open code block
	for line := range strings.Lines(source) {
		mark := fenceOf(line)
		switch {
		case fence != "":
			if strings.HasPrefix(mark, fence) && strings.TrimSpace(line) == mark {
				fence = ""
			}
			b.WriteString(line)
		case mark != "":
			fence = mark
			b.WriteString(line)
		default:
			plainLine(&b, line)
		}
	}
	return b.String()
}

// fenceOf returns the fence that begins a line, "" for none.
func fenceOf(line string) string {
	line = strings.TrimLeft(line, " ")
	for _, mark := range []string{"`", "~"} {
		if rest := strings.TrimLeft(line, mark); len(line)-len(rest) >= 3 && !strings.Contains(rest, "`") {
			return line[:len(line)-len(rest)]
		}
	}
	return ""
}

// plainLine writes a line of text, which may contain code spans.
func plainLine(b *strings.Builder, line string) {
	for line != "" {
		i := strings.IndexAny(line, "\\`")
		if i < 0 {
			break
		}
		b.WriteString(line[:i])
		line = line[i:]
		if line[0] == '\\' {
			line = line[1:]
			if line == "" || !strings.ContainsRune("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", rune(line[0])) {
				b.WriteByte('\\')
				continue
			}
			b.WriteByte(line[0])
			line = line[1:]
			continue
		}
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		end := len(ticks)
		if close := strings.Index(line[end:], ticks); close >= 0 {
			end += close + len(ticks)
		}
		b.WriteString(line[:end])
		line = line[end:]
	}
	b.WriteString(line)
}
