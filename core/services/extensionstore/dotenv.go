package extensionstore

import (
	"strings"
	"unicode"
)

// readEnv returns the assignments NAME=value of a .env file; of equal names the last one
// wins. A value may be quoted; in double quotes \" and \\ are escapes. Other lines are
// ignored.
func readEnv(text string) map[string]string {
	values := map[string]string{}
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		if name, value, ok := assignment(line); ok {
			values[name] = value
		}
	}
	return values
}

func assignment(line string) (name, value string, ok bool) {
	line = strings.TrimSpace(line)
	if rest, exported := strings.CutPrefix(line, "export "); exported {
		line = strings.TrimSpace(rest)
	}
	name, value, ok = strings.Cut(line, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok || !nameOfVariable().MatchString(name) || strings.Contains(value, "\x00") {
		return "", "", false
	}
	if value != "" && strings.ContainsRune(`"'`, rune(value[0])) {
		quote := value[:1]
		if end := closingQuote(value); end > 0 {
			value = value[1:end]
			if quote == `"` {
				value = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(value)
			}
			return name, value, true
		}
	}
	if comment := strings.Index(value, " #"); comment >= 0 {
		value = strings.TrimSpace(value[:comment])
	}
	return name, value, true
}

// closingQuote returns the offset of the closing quote of a quoted text, -1 if there is
// none.
func closingQuote(text string) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && text[0] == '"':
			i++
		case text[i] == text[0]:
			return i
		}
	}
	return -1
}

// writeEnv returns a .env file in which a variable is set to a value, or removed if the
// value is nil. All other lines are preserved.
func writeEnv(text, variable string, value *string) string {
	var lines []string
	written := value == nil
	add := func() {
		lines = append(lines, variable+"="+quoted(*value))
		written = true
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		switch name, _, ok := assignment(line); {
		case !ok || name != variable:
			lines = append(lines, line)
		case !written:
			add()
		}
	}
	if len(lines) == 1 && lines[0] == "" {
		lines = nil
	}
	if !written {
		add()
	}
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// quoted returns a value in the syntax of .env files.
func quoted(value string) string {
	if value == "" || strings.ContainsAny(value, "\"'`#$\\") || strings.ContainsFunc(value, unicode.IsSpace) {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
	}
	return value
}
