package shell

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Quote joins words by blanks, each quoted where bash would otherwise not read
// it as it stands.
func Quote(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quoteWord(w)
	}
	return strings.Join(quoted, " ")
}

// plain are the characters that need no quotes beside letters and digits.
const plain = "_./:@%+,-=^"

func quoteWord(w string) string {
	if w == "" {
		return "''"
	}
	needs, control := false, false
	for i, r := range w {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r > 0x7f, strings.ContainsRune(plain, r):
		case r == '~' && i > 0, r == '#' && i > 0:
		case r == '[' && w == "[", r == ']' && w == "]":
		case r < 0x20 && r != '\n' && r != '\t', r == 0x7f:
			needs, control = true, true
		default:
			needs = true
		}
	}
	switch {
	case !needs:
		return w
	case control:
		return quoteANSI(w)
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// quoteANSI quotes a word with control characters, so that they can be seen.
func quoteANSI(w string) string {
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(w) {
		switch c := w[i]; {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20 || c == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteString("'")
	return b.String()
}

// Prefix reads a rule's commandPrefix as bash would: the words of one simple
// command, all of them static. Its error says why a text is none, in words for
// the rule's author.
func Prefix(s string) ([]string, error) {
	if problem := refuse(s); problem != "" {
		return nil, errors.New(problem)
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(s), "")
	if err != nil {
		return nil, fmt.Errorf("it does not parse as a bash command: %w", err)
	}
	if len(file.Stmts) == 0 {
		return nil, errors.New("it names no command")
	}
	stmt := file.Stmts[0]
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	switch {
	case len(file.Stmts) > 1 || stmt.Background || stmt.Negated || !ok || len(file.Last) > 0 || len(stmt.Comments) > 0:
		return nil, errors.New("it is more than the beginning of one command; give each command a prefix of its own")
	case len(call.Assigns) > 0:
		return nil, errors.New("it begins with an assignment; a prefix is compared with the words of a command alone")
	case len(stmt.Redirs) > 0:
		return nil, errors.New("it holds a redirection; a prefix is compared with the words of a command alone")
	}
	a := newAnalysis(s)
	var words []string
	for _, w := range a.words(call.Args) {
		if !w.Static {
			return nil, fmt.Errorf("the word %s is not fixed text; quote it if it is meant as it stands", w.Text)
		}
		words = append(words, w.Text)
	}
	if len(words) == 0 {
		return nil, errors.New("it names no command")
	}
	return words, nil
}
