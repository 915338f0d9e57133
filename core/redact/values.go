package redact

import "strings"

// closing returns the offset of the quote that ends a string, or -1. The string began with quote,
// which has the backslashes of its level of JSON strings; a single quote has none at any level.
// Without an end, the first escaped quote ends it, as in a shell's 'C:\'. A quote of an outer level
// and a line ending end the search.
func closing(s, quote string) int {
	level, c, escaped := len(quote)-1, quote[len(quote)-1], -1
	for i, slashes := 0, 0; i < len(s) && s[i] != '\n'; i++ {
		if s[i] == '\\' {
			slashes++
			continue
		}
		odd := (slashes-level)/(level+1)%2 != 0 || c != '"' && slashes > 0 && i+1 < len(s) && isWord(s[i+1])
		switch {
		case s[i] == '"' && (slashes < level || (slashes-level)%(level+1) != 0 || c != '"' && escaped >= 0):
			return escaped
		case s[i] != c:
		case c == '\'' && i > 0 && slashes == 0 && i+1 < len(s) && s[i+1] == c: // two stand for one
			i++
		case !odd:
			return i - level
		case escaped < 0:
			escaped = i - level
		}
		slashes = 0
	}
	return escaped
}

// closed reports whether the quote before i closed a string of JSON, and did not open one.
func closed(s string, i int) bool {
	if i == len(s) || strings.IndexByte(",:]}", s[i]) < 0 {
		return i == len(s)
	}
	next := run(s, i+1, isBackslash)
	return next == len(s) || strings.IndexByte(" \t\r\n\",:[]{}", s[next]) >= 0 || newline(s, i+1) > i+1
}

func isBackslash(c byte) bool { return c == '\\' }

// newline returns the offset after the line ending at i, which may be an escape at any level of
// JSON strings; i: there is none.
func newline(s string, i int) int {
	n := run(s, i, isBackslash)
	rest := s[n:]
	switch {
	case n > i && strings.HasPrefix(rest, "n"):
		return n + 1
	case n > i && strings.HasPrefix(rest, "r"):
		if next := newline(s, n+1); next > n+1 {
			return next
		}
	case n == i && strings.HasPrefix(rest, "\n"):
		return i + 1
	case n == i && strings.HasPrefix(rest, "\r\n"):
		return i + 2
	}
	return i
}

// lineEnd returns the end of a line that began after a line ending with a number of backslashes,
// which is the level of its JSON string: 0 outside of one.
func lineEnd(s string, i, level int) int {
	for i < len(s) {
		n := run(s, i, isBackslash)
		if n == len(s) || s[n] == '\n' || s[n] == '\r' || level > 0 && (n-i == level && (s[n] == 'n' || s[n] == 'r') || n-i < level && s[n] == '"') {
			return i
		}
		i = n + 1
	}
	return i
}

// pair returns the offset of the value whose name is the value of another key, as in
// {"name": "PASSWORD", "value": "…"}, in such lists in YAML, and in attributes of XML; 0: none. The
// name ends at i, with its quote if it has one.
func pair(s string, i int, quoted bool) int {
	commas, lines := 0, 0
	for i < len(s) {
		if next := newline(s, i); next > i {
			i, lines = next, lines+1
		} else if isBlank(s[i]) || s[i] == ',' {
			if s[i] == ',' {
				commas++
			}
			i++
		} else {
			break
		}
	}
	if commas > 1 || lines > 1 || !quoted && (commas > 0 || lines == 0) {
		return 0
	}
	name := run(s, i, isBackslash)
	opened := name < len(s) && s[name] == '"'
	if opened {
		i = name + 1
	}
	if len(s)-i < len("value") || !strings.EqualFold(s[i:i+len("value")], "value") {
		return 0
	}
	i += len("value")
	if opened {
		if i = run(s, i, isBackslash); i == len(s) || s[i] != '"' {
			return 0
		}
		i++
	}
	i = run(s, i, isBlank)
	separator := byte(':')
	if commas == 0 && lines == 0 {
		separator = '='
	}
	if i == len(s) || s[i] != separator {
		return 0
	}
	return run(s, i+1, isBlank)
}

// indicator returns the length of the character that begins a YAML block; 0: none does.
func indicator(s string) int {
	if n := run(s, 0, isBackslash); n > 0 && strings.HasPrefix(s[n:], "u003e") {
		return n + len("u003e")
	}
	if strings.HasPrefix(s, "|") || strings.HasPrefix(s, ">") {
		return 1
	}
	return 0
}

// block returns the lines of a YAML block, without the indentation of the first.
func (a *assignment) block(s string, c class) span {
	i := run(s, a.begin+indicator(s[a.begin:]), func(c byte) bool { return c == '+' || c == '-' || isDigit(c) })
	i = run(s, i, isBlank)
	level := run(s, i, isBackslash) - i
	key := a.nameEnd - len(a.name)
	indent := key - back(s, key, maxName, func(c byte) bool { return isBlank(c) || c == '-' })
	var lines span
	for len(s) > i && i-a.begin < 4096 {
		next := newline(s, i)
		if next == i {
			break
		}
		begin := run(s, next, isBlank)
		i = lineEnd(s, begin, level)
		switch v := s[begin:i]; {
		case v == "":
			continue
		case begin-next <= indent:
			return lines
		case lines.end == 0 && (nothing(v) || c != password && (strings.Contains(v, " ") || c == weak && !random(v)) || word(v, c)):
			return span{}
		case lines.end == 0:
			lines.begin = begin
		}
		lines.end = i
	}
	return lines
}

// fallback returns the value in an expansion of a shell, such as ${NAME:-VALUE}.
func (a *assignment) fallback(s string, c class, certain bool) span {
	begin := run(s, a.begin+len("${"), isWord)
	if strings.HasPrefix(s[begin:], ":") {
		begin++
	}
	if begin++; begin >= len(s) || strings.IndexByte("-=+", s[begin-1]) < 0 {
		return span{}
	}
	length := strings.IndexAny(s[begin:min(len(s), begin+maxJudged)], "}\n$")
	if length < 0 || s[begin+length] != '}' {
		return span{}
	}
	v := s[begin : begin+length]
	if n := run(v, 0, isBackslash); n < len(v) && (v[n] == '"' || v[n] == '\'') {
		quote := v[:n+1]
		inner, quoted := strings.CutSuffix(v[len(quote):], quote)
		if !quoted {
			return span{}
		}
		begin, v = begin+len(quote), inner
	}
	if strings.ContainsAny(v, `"'`) || nothing(v) || !certain && word(v, c) || c == weak && !random(v) {
		return span{}
	}
	return span{begin, begin + len(v)}
}

const cdata = "![CDATA["

// tag returns the offset of the text of an XML element whose name ends at i; 0: it has none.
func tag(s string, i int) int {
	const most = 256
	for end := min(len(s), i+most); i < end && s[i] != '\n' && s[i] != '<'; i++ {
		switch {
		case s[i] == '>' && s[i-1] == '/':
			return 0
		case s[i] == '>':
		case s[i] == '\\' && strings.HasPrefix(s[run(s, i, isBackslash):], "u003e"):
			i = run(s, i, isBackslash) + len("u003e") - 1
		default:
			continue
		}
		i++
		for _, open := range []string{"<", "u003c"} {
			n := i
			if open != "<" {
				n = run(s, i, isBackslash)
			}
			if strings.HasPrefix(s[n:], open+cdata) {
				i = n + len(open+cdata)
			}
		}
		return i
	}
	return 0
}
