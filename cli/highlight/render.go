package highlight

import (
	"strings"

	"github.com/fettle-dev/fettle/cli/theme"
)

// Render returns tokens in the styles of a theme, on the style base. The text must be
// safe for the terminal.
func Render(tokens []Token, base theme.Style, t *theme.Theme) string {
	if len(tokens) == 1 {
		return tokens[0].Kind.Style(t).On(base).Render(tokens[0].Text)
	}
	var b strings.Builder
	for _, token := range tokens {
		b.WriteString(token.Kind.Style(t).On(base).Render(token.Text))
	}
	return b.String()
}

// Split splits tokens after n bytes.
func Split(tokens []Token, n int) (head, rest []Token) {
	for i, token := range tokens {
		if n >= len(token.Text) {
			n -= len(token.Text)
			continue
		}
		if n == 0 {
			return tokens[:i:i], tokens[i:]
		}
		head = append(tokens[:i:i], Token{token.Text[:n], token.Kind})
		return head, append([]Token{{token.Text[n:], token.Kind}}, tokens[i+1:]...)
	}
	return tokens, nil
}
