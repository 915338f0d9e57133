package mention

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// reference is one @… reference of a prompt.
type reference struct {
	from, to int    // byte offsets in the prompt, from the @ on
	name     string // the name without quotes and escapes
	quoted   bool   // part of it was quoted or escaped, so that the name is literal
}

// references finds the references of a prompt. A reference starts with an @ at the beginning or after a character that
// is not part of a word. The name follows without a gap: texts in double quotes, characters after a backslash, and
// characters other than white space and , ; ! ? ( ) [ ] { }. A full stop belongs to the name unless it ends the word. If
// a quote precedes the @, the same quote ends the name. A lone @, an escaped @ and mail addresses are not references.
func references(prompt string) []reference {
	var found []reference
	for at := 0; at < len(prompt); {
		next := strings.IndexByte(prompt[at:], '@')
		if next < 0 {
			break
		}
		at += next
		if before, _ := utf8.DecodeLastRuneInString(prompt[:at]); partOfWord(before) {
			at++
			continue
		}
		r := named(prompt, at)
		if r.name != "" {
			found = append(found, r)
		}
		at = r.to
	}
	return found
}

// partOfWord reports whether an @ after this character starts no reference.
func partOfWord(r rune) bool {
	return r == '\\' || r == '@' || strings.ContainsRune("._%+-/`", r) || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// named parses the reference whose @ is at from.
func named(prompt string, from int) reference {
	r := reference{from: from}
	around := rune(-1) // the quote that ends the name
	if before, _ := utf8.DecodeLastRuneInString(prompt[:from]); before == '"' || before == '\'' {
		around = before
	}
	var name strings.Builder
	at := from + 1
	for at < len(prompt) {
		c, size := utf8.DecodeRuneInString(prompt[at:])
		switch {
		case c == around:
			r.to, r.name = at, name.String()
			return r
		case c == '"':
			end := strings.IndexAny(prompt[at+1:], "\"\n")
			if end < 0 || prompt[at+1+end] == '\n' {
				r.to, r.name = at, name.String()
				return r
			}
			name.WriteString(prompt[at+1 : at+1+end])
			r.quoted = true
			at += end + 2
			continue
		case c == '\\' && at+1 < len(prompt) && prompt[at+1] != '\n' && prompt[at+1] != '\r':
			escaped, size := utf8.DecodeRuneInString(prompt[at+1:])
			name.WriteRune(escaped)
			r.quoted = true
			at += 1 + size
			continue
		case unicode.IsSpace(c), strings.ContainsRune(",;!?()[]{}\\", c), c == '.' && endsWord(prompt[at+1:]):
			r.to, r.name = at, name.String()
			return r
		}
		name.WriteString(prompt[at : at+size])
		at += size
	}
	r.to, r.name = at, name.String()
	return r
}

// endsWord reports whether the name ends before rest.
func endsWord(rest string) bool {
	rest = strings.TrimLeft(rest, ".")
	if rest == "" {
		return true
	}
	c, _ := utf8.DecodeRuneInString(rest)
	return unicode.IsSpace(c) || strings.ContainsRune(",;!?)]}\"'", c)
}
