package discovery

import "strings"

// wildcard is the parsed part of an ignore pattern from its first special byte on. It matches whole
// names, in time linear in the name for each component.
type wildcard []token

type token struct {
	kind tokenKind
	char byte       // of tokenByte
	set  *[256]bool // of tokenSet
}

type tokenKind uint8

const (
	tokenByte        tokenKind = iota // that byte
	tokenAny                          // any byte except the slash: ?
	tokenSet                          // a byte of a set: [a-z]
	tokenStar                         // any bytes except slashes: *
	tokenAll                          // any bytes: a ** at the end of an element
	tokenDirectories                  // any number of directories, each with its slash: **/
)

// compileWildcard parses a pattern as git does. A pattern that cannot match, such as one with an
// open bracket, is not ok. path means that * and ? stop at slashes and ** does not.
func compileWildcard(pattern string, path bool) (w wildcard, ok bool) {
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '\\':
			i++
			if i == len(pattern) {
				return nil, false
			}
			w = append(w, token{kind: tokenByte, char: pattern[i]})
		case '?':
			w = append(w, token{kind: tokenAny})
		case '[':
			set, end, ok := compileSet(pattern, i+1)
			if !ok {
				return nil, false
			}
			if path {
				set['/'] = false
			}
			w = append(w, token{kind: tokenSet, set: set})
			i = end
		case '*':
			first := i
			for i+1 < len(pattern) && pattern[i+1] == '*' {
				i++
			}
			rest := pattern[i+1:]
			switch {
			case !path:
				w = append(w, token{kind: tokenAll})
			case i == first || first > 0 && pattern[first-1] != '/':
				w = append(w, token{kind: tokenStar})
			case strings.HasPrefix(rest, "/"):
				w = append(w, token{kind: tokenDirectories})
				i++
			case rest == "" || strings.HasPrefix(rest, `\/`):
				w = append(w, token{kind: tokenAll})
			default:
				w = append(w, token{kind: tokenStar})
			}
		default:
			w = append(w, token{kind: tokenByte, char: c})
		}
	}
	return w, true
}

// compileSet parses a bracket expression whose first byte is pattern[i]; end is the index of its
// closing bracket.
func compileSet(pattern string, i int) (set *[256]bool, end int, ok bool) {
	set = new([256]bool)
	negated := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
	if negated {
		i++
	}
	var before byte // possible start of a range; 0: none
	for first := true; ; first = false {
		if i >= len(pattern) {
			return nil, 0, false
		}
		c := pattern[i]
		if c == ']' && !first {
			break
		}
		switch {
		case c == '\\':
			i++
			if i == len(pattern) {
				return nil, 0, false
			}
			c = pattern[i]
			set[c] = true
		case c == '-' && before != 0 && i+1 < len(pattern) && pattern[i+1] != ']':
			i++
			if c = pattern[i]; c == '\\' {
				i++
				if i == len(pattern) {
					return nil, 0, false
				}
				c = pattern[i]
			}
			for b := int(before); b <= int(c); b++ {
				set[b] = true
			}
			c = 0
		case c == '[' && i+1 < len(pattern) && pattern[i+1] == ':':
			length := strings.IndexByte(pattern[i+2:], ']')
			if length < 0 {
				return nil, 0, false
			}
			if length == 0 || pattern[i+1+length] != ':' { // not closed by ":]": an ordinary bracket
				set['['] = true
				break
			}
			if !addClass(set, pattern[i+2:i+1+length]) {
				return nil, 0, false
			}
			i += 2 + length
			c = 0
		default:
			set[c] = true
		}
		before = c
		i++
	}
	if negated {
		for b := range set {
			set[b] = !set[b]
		}
	}
	return set, i, true
}

// addClass adds the bytes of a named class; ok is false if there is none.
func addClass(set *[256]bool, name string) bool {
	between := func(ranges string) {
		for i := 0; i < len(ranges); i += 2 {
			for b := ranges[i]; b <= ranges[i+1]; b++ {
				set[b] = true
			}
		}
	}
	switch name {
	case "alnum":
		between("09AZaz")
	case "alpha":
		between("AZaz")
	case "blank":
		between("  \t\t")
	case "cntrl":
		between("\x00\x1f\x7f\x7f")
	case "digit":
		between("09")
	case "graph":
		between("!~")
	case "lower":
		between("az")
	case "print":
		between(" ~")
	case "punct":
		between("!/:@[`{~")
	case "space":
		between("\t\n\r\r  ")
	case "upper":
		between("AZ")
	case "xdigit":
		between("09AFaf")
	default:
		return false
	}
	return true
}

// match reports whether the wildcard matches all of name. After a mismatch the last star consumes
// one more byte; if that is a slash, the last token that crosses slashes consumes more. Earlier
// tokens never have to be tried again: the later ones can consume everything that they could have
// left.
func (w wildcard) match(name string) bool {
	type retry struct{ token, at int }
	none := retry{-1, 0}
	star, deep := none, none
	t, i := 0, 0
	for {
		switch {
		case t == len(w):
			if i == len(name) {
				return true
			}
		case w[t].kind == tokenStar:
			star = retry{t, i}
			t++
			continue
		case w[t].kind == tokenAll || w[t].kind == tokenDirectories:
			star, deep = none, retry{t, i}
			t++
			continue
		case i < len(name) && w[t].takes(name[i]):
			t++
			i++
			continue
		}
		switch {
		case star.token >= 0 && star.at < len(name) && name[star.at] != '/':
			star.at++
			t, i = star.token+1, star.at
		case deep.token >= 0 && deep.at < len(name):
			star = none
			if w[deep.token].kind == tokenAll {
				deep.at++
			} else {
				slash := strings.IndexByte(name[deep.at:], '/')
				if slash < 0 {
					return false
				}
				deep.at += slash + 1
			}
			t, i = deep.token+1, deep.at
		default:
			return false
		}
	}
}

func (t token) takes(c byte) bool {
	switch t.kind {
	case tokenByte:
		return c == t.char
	case tokenAny:
		return c != '/'
	default:
		return t.set[c]
	}
}
