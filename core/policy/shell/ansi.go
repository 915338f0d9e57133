package shell

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// unescapeANSI resolves the escapes of $'…'. As in bash, the text ends at an
// escape for NUL.
func unescapeANSI(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if plain, ok := simpleEscape(s[i]); ok {
			b.WriteByte(plain)
			continue
		}
		value, n, isRune := numericEscape(s[i:])
		switch {
		case n == 0:
			b.WriteByte('\\')
			b.WriteByte(s[i])
			continue
		case value == 0:
			return b.String()
		case isRune:
			b.WriteString(string(rune(value)))
		default:
			b.WriteByte(byte(value))
		}
		i += n - 1
	}
	return b.String()
}

func simpleEscape(c byte) (byte, bool) {
	const from, to = `abeEfnrtv\'"?`, "\a\b\x1b\x1b\f\n\r\t\v\\'\"?"
	if i := strings.IndexByte(from, c); i >= 0 {
		return to[i], true
	}
	return 0, false
}

// numericEscape parses an escape after its backslash. It returns its value, its
// length, and whether the value is a code point. Length 0 means no escape.
func numericEscape(s string) (value, n int, isRune bool) {
	digits := func(from, most, base int) (int, int) {
		end := from
		for end < len(s) && end < from+most && isDigit(s[end], base) {
			end++
		}
		v, _ := strconv.ParseInt(s[from:end], base, 64)
		return int(v), end
	}
	switch c := s[0]; {
	case c >= '0' && c <= '7':
		v, end := digits(0, 3, 8)
		return v & 0xff, end, false
	case c == 'x' && len(s) > 1 && s[1] == '{':
		// bash reads all the digits in braces and uses the lowest byte
		v, end := digits(2, len(s), 16)
		if end < len(s) && s[end] == '}' {
			end++
		}
		return v & 0xff, end, false
	case c == 'x':
		if v, end := digits(1, 2, 16); end > 1 {
			return v, end, false
		}
	case c == 'u' || c == 'U':
		most := 4
		if c == 'U' {
			most = 8
		}
		if v, end := digits(1, most, 16); end > 1 {
			if v > utf8.MaxRune {
				v = utf8.RuneError
			}
			return v, end, v >= utf8.RuneSelf
		}
	case c == 'c' && len(s) > 1:
		return int(s[1]) & 0x1f, 2, false
	}
	return 0, 0, false
}

func isDigit(c byte, base int) bool {
	switch {
	case c >= '0' && c <= '9':
		return int(c-'0') < base
	case base == 16:
		c |= 0x20
		return c >= 'a' && c <= 'f'
	}
	return false
}
