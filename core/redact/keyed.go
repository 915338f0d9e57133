package redact

import "strings"

// class states how strongly a name suggests a secret.
type class int

const (
	weak     class = iota // its value must look random
	secret                // its value must not be a word of a program
	password              // any value that is not program text
)

// assignment is a name with its value.
type assignment struct {
	name    string
	flag    bool // --name
	query   bool // ?name=, &name= or ;name=
	env     bool // NAME=, all in upper case
	markup  bool // <name>
	header  bool // Name-Of-Header:
	spaced  bool // blanks around the separator, or a colon followed by one
	colon   bool
	begins  bool   // it begins its line
	quote   string // the quote before the value, with its backslashes; "": none
	begin   int    // offset of the value
	nameEnd int
}

// ofClass returns the function that finds values of names whose last word is a hint.
func ofClass(c class) func(s string, start, end int) (span, int) {
	return func(s string, start, end int) (span, int) {
		a, ok := assigned(s, start, end)
		if !ok || c == weak && strings.Contains(strings.ToLower(a.name), "public") {
			return span{}, 0
		}
		f := a.value(s, c)
		return f, f.end
	}
}

// camel is ofClass for hints that begin a word in a name in camel case.
func camel(c class) func(s string, start, end int) (span, int) {
	match := ofClass(c)
	return func(s string, start, end int) (span, int) {
		if start == 0 || !isDigit(s[start-1]) && (s[start-1] < 'a' || s[start-1] > 'z') {
			return span{}, 0
		}
		return match(s, start, end)
	}
}

// maxName is the longest name of a secret in bytes. maxJudged is the number of bytes of a value
// that are examined before it is masked as a whole.
const maxName, maxJudged = 64, 512

// assigned parses the name that ends with a hint, and the separator before its value.
func assigned(s string, start, end int) (a assignment, ok bool) {
	if end < len(s) && isWord(s[end]) || end+1 < len(s) && s[end] == '-' && isWord(s[end+1]) {
		stop := run(s, end, func(c byte) bool { return isDigit(c) || c == '_' })
		if end = stop; end < len(s) && isToken(s[end]) {
			return a, false
		}
	}
	begin := back(s, start, maxName, func(c byte) bool { return isToken(c) || c == '.' })
	for begin < start && s[begin] == '.' {
		begin++
	}
	if begin > 0 && s[begin-1] == '\\' { // an escape, which is not part of the name
		switch rest := s[begin:start]; {
		case strings.HasPrefix(rest, "u0026"):
			begin, a.query = begin+len("u0026"), true
		case strings.HasPrefix(rest, "u003c"):
			begin, a.markup = begin+len("u003c"), true
		case rest != "" && strings.IndexByte("nrt", rest[0]) >= 0:
			a.begins = rest[0] == 'n'
			begin++
		}
	}
	a.name = s[begin:end]
	if rest := strings.TrimLeft(a.name, "-"); len(a.name)-len(rest) == 2 {
		a.flag, a.name, begin = true, rest, begin+2
	}
	if i := strings.LastIndexByte(a.name, '.'); i >= 0 {
		a.name = a.name[i+1:]
		begin = end - len(a.name)
	}
	before := byte('\n')
	if begin > 0 {
		before = s[begin-1]
	}
	a.query = a.query || before == '?' || before == '&' || before == ';'
	a.begins = a.begins || before == '\n' || before == '\r' || strings.HasSuffix(s[:begin], "export ")
	a.env = !strings.ContainsAny(a.name, "abcdefghijklmnopqrstuvwxyz")
	a.header = strings.Contains(a.name, "-") && !a.flag
	a.nameEnd = end

	at := end
	closing := run(s, at, func(c byte) bool { return c == '\\' })
	if before == ':' { // a name space
		space := back(s, begin-1, maxName, isToken)
		a.markup = space > 0 && (s[space-1] == '<' || s[space-1] == '\\' && strings.HasPrefix(s[space:], "u003c"))
	}
	if a.markup = a.markup || before == '<'; a.markup { // a tag
		a.begin = tag(s, at)
		return a, a.begin > 0
	}
	quoted := false
	if closing < len(s) && (s[closing] == '"' || s[closing] == '\'' || s[closing] == '`') && closing-at < 16 {
		quoted, at = true, closing+1
	}
	if at < len(s) && s[at] == ']' { // of m["password"]
		at++
	}
	blanks := run(s, at, isBlank)
	if blanks >= len(s) || blanks-at > 40 {
		return a, false
	}
	if c := s[blanks]; c != '=' && c != ':' && (quoted || isBlank(before)) {
		if value := pair(s, at, quoted); value > 0 {
			a.spaced, a.colon, a.header, blanks = true, true, false, -1
			at = value
		}
	}
	switch c := s[max(0, blanks)]; {
	case blanks < 0:
	case c == '=' || c == ':':
		sep := blanks + 1
		if sep < len(s) && (s[sep] == '=' || s[sep] == '>') {
			if c == '=' && s[sep] == '=' {
				return a, false
			}
			sep++
		}
		if n := run(s, sep, func(c byte) bool { return c == '\\' }); c == '=' && n > sep && strings.HasPrefix(s[n:], "u003e") {
			sep = n + len("u003e")
		}
		a.colon = c == ':'
		at = run(s, sep, isBlank)
		a.spaced = at > sep || blanks > at
		a.env = a.env && at == sep && !a.colon && !quoted
		a.header = a.header && a.colon
		if a.query = a.query && c == '=' && at == sep; at < len(s) && s[at] == '[' && a.colon && !strings.HasPrefix(s[at:], Mark) { // a header printed by Go
			at++
		}
	case c == ',' && quoted && (a.flag || a.header || strings.Contains(a.name, "-")): // an element of a list of arguments, or set in a program
		at = run(s, blanks+1, isBlank)
		if n := run(s, at, func(c byte) bool { return c == '\\' }); n >= len(s) || s[n] != '"' && s[n] != '\'' {
			return a, false
		}
	case a.flag && blanks > at && !quoted:
		at = blanks
	default:
		return a, false
	}
	slashes := run(s, at, func(c byte) bool { return c == '\\' })
	if slashes < len(s) && slashes-at < 16 && (s[slashes] == '"' || s[slashes] == '\'' || s[slashes] == '`') {
		a.quote = s[at : slashes+1]
		if at = slashes + 1; closed(s, at) {
			return a, false
		}
	}
	a.begin = at
	return a, at < len(s)
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// value returns the secret part of an assignment.
func (a *assignment) value(s string, c class) span {
	rest := s[a.begin:]
	certain := a.flag || a.query || a.env || a.markup || a.header
	switch {
	case strings.HasPrefix(rest, "${"):
		return a.fallback(s, c, certain)
	case a.quote == "" && a.colon && indicator(rest) > 0:
		return a.block(s, c)
	case a.quote != "":
		stop := closing(rest[:min(len(rest), 4096)], a.quote)
		if stop < 0 {
			return span{} // not a string
		}
		v := rest[:stop]
		if nothing(v) || a.flag && strings.HasPrefix(v, "-") || !certain && word(v, c) || c == weak && !random(v) || strings.Contains(v, "${") || strings.Contains(v, "{{") {
			return span{}
		}
		return span{a.begin, a.begin + stop}
	case a.markup:
		stop := strings.IndexAny(rest[:min(len(rest), 4096)], `<\`)
		if strings.HasSuffix(s[:a.begin], cdata) {
			stop = strings.Index(rest[:min(len(rest), 4096)], "]]")
		}
		if stop <= 0 || nothing(rest[:stop]) || strings.ContainsAny(rest[:stop], "\n\"") || c == weak && !random(rest[:stop]) {
			return span{}
		}
		return span{a.begin, a.begin + stop}
	}
	stops := " \t\r\n\"'`\\&;,)}]<>|"
	if a.begins && !a.spaced && !a.colon || a.header {
		stops = " \t\r\n\"'`\\"
	}
	length := func(s string) int {
		if i := strings.IndexAny(s, stops); i >= 0 {
			return i
		}
		return len(s)
	}
	v := rest[:length(rest[:min(len(rest), maxJudged)])]
	next := byte('\n')
	if len(v) < len(rest) {
		next = rest[len(v)]
	}
	switch {
	case nothing(v) || c == weak && !random(v):
		return span{}
	case number(v):
		// In JSON a number, since a masked text would not stay JSON.
		if !certain || c == weak {
			return span{}
		}
	case a.flag && (strings.HasPrefix(v, "-") || !strings.ContainsAny(v, "abcdefghijklmnopqrstuvwxyz0123456789") || a.spacedFlag(s) && noun(v)):
		return span{} // the description of the flag on a page
	case certain && next != '(':
	case code(v) || next == '(' || next == '[' || strings.EqualFold(v, a.name):
		return span{}
	case c == password && !a.spaced:
		if word(v, password) || identifier(v) && !hasDigit(v) && (next == ',' || next == ')' || next == ';') {
			return span{}
		}
	case c == password:
		if identifier(v) && !hasDigit(v) || word(v, password) || !last(rest[len(v):]) {
			return span{}
		}
	default:
		if !random(v) && !scrambled(v) && (a.spaced || len(v) < 8 || !hasDigit(v) || identifier(v) && (next == ',' || next == ')' || next == ';')) || a.spaced && !last(rest[len(v):]) {
			return span{}
		}
	}
	if len(v) == maxJudged {
		v = rest[:length(rest)]
	}
	return span{a.begin, a.begin + len(v)}
}

// spacedFlag reports whether a blank separates a flag from its value.
func (a *assignment) spacedFlag(s string) bool { return a.nameEnd < len(s) && isBlank(s[a.nameEnd]) }

// last reports whether only a comment follows on the line.
func last(rest string) bool {
	rest = strings.TrimLeft(rest, " \t\r")
	return rest == "" || strings.HasPrefix(rest, "\n") || strings.HasPrefix(rest, "#") || strings.HasPrefix(rest, `\`) || strings.HasPrefix(rest, `"`)
}

// nothing reports whether a value is not a secret but empty, a variable or a placeholder.
func nothing(v string) bool {
	if v == "" || strings.Trim(v, "xX*.-_?#•…") == "" || strings.HasPrefix(v, Mark) || strings.HasPrefix(v, "[masked") {
		return true
	}
	switch strings.ToLower(v) {
	case "true", "false", "null", "nil", "none", "undefined", "unset", "yes", "no", "on", "off":
		return true
	}
	lower := strings.ToLower(v[:min(len(v), 8)])
	return strings.IndexByte("$<{(", v[0]) >= 0 || v[0] == '%' && !(len(v) > 2 && isHex(v[1]) && isHex(v[2])) || v[0] == '*' ||
		v[0] == '[' || strings.HasPrefix(lower, "your") || strings.HasPrefix(lower, "<your")
}

// noun reports whether a value is a word that documentation and programs use in place of a secret.
func noun(v string) bool {
	switch strings.ToLower(strings.TrimRight(v, ".:;,?!*")) {
	case "string", "str", "text", "bytes", "int", "number", "bool", "boolean", "any", "object", "required", "optional", "password", "passwd", "pwd", "secret", "token",
		"key", "file", "stringarray", "value", "name", "type", "input", "hidden", "field", "default", "unknown", "missing", "invalid", "empty", "is", "the", "a", "for", "of", "and", "or", "to":
		return true
	}
	return false
}

// word reports whether a value is more likely a word of a program or of a page than a secret.
func word(v string, c class) bool {
	if noun(v) {
		return true
	}
	if strings.ContainsAny(v, " ") && c != password {
		return !hasDigit(v) || len(v) > 128
	}
	if c == password {
		return len(v) < 4 || strings.ContainsAny(v, "%") && strings.Contains(v, "%s") || strings.Count(v, " ") > 3 || strings.HasSuffix(v, ":") || strings.HasSuffix(v, ": ")
	}
	return !hasDigit(v) && (len(v) < 20 || plain(v)) || len(v) < 8
}

// code reports whether a value is more likely part of a program.
func code(v string) bool {
	if strings.ContainsAny(v, "(){}") || strings.HasPrefix(v, "&") || strings.HasPrefix(v, "*") || strings.HasPrefix(v, "!") && len(v) < 3 {
		return true
	}
	if strings.Contains(v, ".") { // names joined as a.b.c
		for part := range strings.SplitSeq(v, ".") {
			if part == "" || !identifier(part) || random(part) {
				return false
			}
		}
		return true
	}
	return false
}

// identifier reports whether a value could be a name in a program.
func identifier(v string) bool {
	for i := range len(v) {
		if !isWord(v[i]) {
			return false
		}
	}
	return v != "" && !isDigit(v[0])
}

func hasDigit(v string) bool { return strings.ContainsAny(v, "0123456789") }

func number(v string) bool {
	return v != "" && run(v, 0, func(c byte) bool { return isDigit(c) || strings.IndexByte("+-.eE", c) >= 0 }) == len(v) && hasDigit(v[:1]+v[len(v)-1:])
}

// random reports whether a value looks generated: 16 or more characters with digits and letters,
// and neither a path nor a UUID.
func random(v string) bool {
	return len(v) >= 16 && generated(v)
}

// scrambled reports whether a value of at least 8 letters and digits looks generated.
func scrambled(v string) bool {
	return len(v) >= 8 && generated(v) && !strings.ContainsAny(v, "+/=_.~-%")
}

// generated reports whether digits and letters alternate in a value.
func generated(v string) bool {
	if len(v) == 36 && strings.Count(v, "-") == 4 {
		return false
	}
	digits, alphas, changes := 0, 0, 0
	was := false
	for i := range len(v) {
		c := v[i]
		switch {
		case isDigit(c):
			if digits++; !was {
				changes++
			}
			was = true
		case isWord(c) && c != '_':
			if alphas++; was {
				changes++
			}
			was = false
		case strings.IndexByte("+/=_.~-%", c) >= 0:
		default:
			return false
		}
	}
	return digits >= 2 && alphas >= 2 && changes >= 3 && strings.Count(v, "/") < 3
}

// header finds the value of an Authorization header.
func header(s string, start, end int) (span, int) {
	a, ok := assigned(s, start, end)
	if !ok {
		return span{}, 0
	}
	return a.line(s, func(v string) bool {
		scheme, rest, found := strings.Cut(strings.TrimLeft(v, " "), " ")
		if found && identifier(strings.ReplaceAll(scheme, "-", "_")) {
			rest = strings.TrimLeft(rest, " ")
			return len(rest) >= 3 && !nothing(rest) && (!strings.Contains(rest, " ") || strings.Contains(rest, "="))
		}
		return hasDigit(v) && len(v) >= 8 && !code(v) || len(v) >= 20 && !strings.ContainsAny(v, " (")
	})
}

// cookie finds the value of a cookie header.
func cookie(s string, start, end int) (span, int) {
	a, ok := assigned(s, start, end)
	if !ok || !strings.EqualFold(a.name, "cookie") && !strings.EqualFold(a.name, "set-cookie") {
		return span{}, 0
	}
	return a.line(s, func(v string) bool {
		name, value, found := strings.Cut(v, "=")
		return found && identifier(strings.NewReplacer("-", "_", ".", "_").Replace(strings.TrimSpace(name))) && len(value) >= 2 && !nothing(value)
	})
}

// line returns a header's value, which ends with its line or its quote.
func (a *assignment) line(s string, is func(string) bool) (span, int) {
	rest := s[a.begin:min(len(s), a.begin+4096)]
	stop := strings.IndexAny(rest, "\r\n\"`")
	if a.quote == "'" || a.quote == "" {
		stop = strings.IndexAny(rest, "\r\n\"`'")
	}
	if stop < 0 {
		stop = len(rest)
	}
	stop = len(strings.TrimRight(rest[:stop], `\`))
	for i := 0; i+1 < stop; i++ { // an escape ends the line
		if rest[i] == '\\' {
			stop = i
		}
	}
	if strings.HasSuffix(s[:a.begin], "[") {
		if i := strings.IndexByte(rest[:stop], ']'); i >= 0 {
			stop = i
		}
	}
	if !a.colon && a.quote == "" && !strings.HasSuffix(s[:a.begin], "=") || !is(rest[:stop]) {
		return span{}, 0
	}
	return span{a.begin, a.begin + stop}, a.begin + stop
}

// bearer finds a bearer token outside of a header.
func bearer(s string, start, end int) (span, int) {
	if !free(s, start) {
		return span{}, 0
	}
	stop := run(s, end, func(c byte) bool { return isToken(c) || strings.IndexByte(".~+/=", c) >= 0 })
	stop = end + len(strings.TrimRight(s[end:stop], "."))
	if v := s[end:stop]; len(v) < 16 || !hasDigit(v) || code(v) {
		return span{}, stop
	}
	return span{end, stop}, stop
}
