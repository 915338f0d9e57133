package discovery

import "strings"

// rule is one line of an ignore file.
type rule struct {
	text    string // without the trailing bytes that git ignores
	line    int    // 1-based
	negated bool
	dirOnly bool

	// A floating rule applies to base names, any other to the path below the ignore file's
	// directory.
	floating bool
	literal  string   // literal prefix of a name; all of it if wild is nil
	suffix   string   // literal suffix of a floating rule that begins with a star; then literal is "" and wild nil
	wild     wildcard // the rest of the pattern
}

// parseRules parses an ignore file as git does. Lines that cannot match are left out.
func parseRules(text string) []rule {
	var rules []rule
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\uFEFF")) {
		number++
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		line = strings.TrimSuffix(line, "\r")
		line, _, _ = strings.Cut(line, "\x00")
		if r, ok := parseRule(trimBlanks(line)); ok {
			r.line = number
			rules = append(rules, r)
		}
	}
	return rules
}

// trimBlanks removes trailing blanks of a line, except after a backslash.
func trimBlanks(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			i++
			if i == len(line) {
				return line
			}
		}
		end = i + 1
	}
	return line[:end]
}

func parseRule(line string) (r rule, ok bool) {
	r.text = line
	line, r.negated = strings.CutPrefix(line, "!")
	line, r.dirOnly = strings.CutSuffix(line, "/")
	if line == "" {
		return rule{}, false
	}
	r.floating = !strings.Contains(line, "/")
	if r.floating && line[0] == '*' && literalLength(line[1:]) == len(line)-1 {
		r.suffix = line[1:]
		if r.suffix != "" {
			return r, true
		}
	}
	line = strings.TrimPrefix(line, "/")
	n := literalLength(line)
	r.literal = line[:n]
	if n == len(line) {
		return r, line != ""
	}
	r.wild, ok = compileWildcard(line[n:], !r.floating)
	return r, ok
}

// literalLength returns the number of bytes before the first special one.
func literalLength(pattern string) int {
	if i := strings.IndexAny(pattern, `*?[\`); i >= 0 {
		return i
	}
	return len(pattern)
}

// matches reports whether the rule applies to name: the base name if it floats, otherwise the path
// below the ignore file's directory.
func (r *rule) matches(name string, dir bool) bool {
	if r.dirOnly && !dir {
		return false
	}
	if r.suffix != "" {
		return strings.HasSuffix(name, r.suffix)
	}
	rest, ok := strings.CutPrefix(name, r.literal)
	if !ok {
		return false
	}
	if r.wild == nil {
		return rest == ""
	}
	return r.wild.match(rest)
}

// mayReach reports whether the rule, which does not float, may apply in or below dir, a path below
// the ignore file's directory.
func (r *rule) mayReach(dir string) bool {
	if dir == "" {
		return true
	}
	n := min(len(dir), len(r.literal))
	return r.literal[:n] == dir[:n] &&
		(len(r.literal) <= len(dir) && r.wild != nil || len(r.literal) > len(dir) && r.literal[len(dir)] == '/')
}
