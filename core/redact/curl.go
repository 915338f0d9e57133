package redact

import "strings"

// curlAlone are the short flags of curl without a value, which may stand before others in one word.
const curlAlone = "#012346:BGIJLMNORSVZafgijklnpqsv"

// curl returns the function that finds the password in a flag of curl, such as -u user:password.
func curl(short byte, long string) func(s string, start, end int) (span, int) {
	return func(s string, start, end int) (span, int) {
		if !free(s, start) || end < len(s) && isToken(s[end]) {
			return span{}, 0
		}
		const most = 1000
		for i, limit := end, min(len(s), end+most); i < limit; i++ {
			switch c := s[i]; {
			case c == '\n' && s[i-1] != '\\' && !strings.HasSuffix(s[:i], "\\\r"), (c == '|' || c == ';' || c == '&') && isBlank(s[i-1]):
				return span{}, 0
			case c == '\\':
				n := run(s, i, isBackslash)
				if n < limit && s[n] == 'n' && (n-i)%3 != 0 { // a line ending in a JSON string, without a backslash before it
					return span{}, 0
				}
				i = n - 1
			case c == '-' && (isBlank(s[i-1]) || strings.IndexByte("\"'\n", s[i-1]) >= 0 || free(s, i)):
				if value := curlFlag(s, i, short, long); value > 0 {
					return userPassword(s, value), 0
				}
			}
		}
		return span{}, 0
	}
}

// curlFlag returns the offset of the value of a flag at i; 0: it is another flag.
func curlFlag(s string, i int, short byte, long string) int {
	end := 0
	if rest := s[i:]; strings.HasPrefix(rest, long) {
		end = i + len(long)
		if end < len(s) && s[end] == '=' {
			return end + 1
		}
		if end < len(s) && (isToken(s[end]) || s[end] == '.') {
			return 0
		}
	} else {
		end = run(s, i+1, func(c byte) bool { return strings.IndexByte(curlAlone, c) >= 0 })
		if end == len(s) || s[end] != short {
			return 0
		}
		end++
	}
	n := run(s, end, isBackslash)
	if n+1 < len(s) && (s[n] == '"' || s[n] == '\'') && s[n+1] == ',' { // an element of a list
		end = n + 2
	}
	return run(s, end, isBlank)
}

// userPassword returns the password after a user and a colon.
func userPassword(s string, i int) span {
	quote := ""
	opens := func() {
		at := i
		if strings.HasPrefix(s[at:], "$'") {
			at++
		}
		if n := run(s, at, isBackslash); n < len(s) && (s[n] == '"' || s[n] == '\'') && n-at < 16 {
			quote, i = s[at:n+1], n+1
		}
	}
	opens()
	for limit := min(len(s), i+maxJudged); i < limit && s[i] != ':'; i++ {
		if s[i] <= ' ' && quote == "" || strings.IndexByte("\n\"'`\\", s[i]) >= 0 {
			return span{}
		}
	}
	if i++; i >= len(s) {
		return span{}
	}
	if quote == "" {
		opens()
	}
	if quote != "" && closed(s, i) {
		return span{}
	}
	rest := s[i:min(len(s), i+4096)]
	stop := -1
	if quote != "" {
		stop = closing(rest, quote)
	} else if stop = strings.IndexAny(rest, " \t\r\n\"'\\`"); stop < 0 {
		stop = len(rest)
	}
	if stop < 0 || nothing(rest[:stop]) {
		return span{}
	}
	return span{i, i + stop}
}
