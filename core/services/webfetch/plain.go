package webfetch

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// plainText returns the text of a page without building its tree; each block begins a line. It
// stops when most characters are certain to be covered, and reports that as trimmed.
func plainText(page string, most int) (text string, trimmed bool) {
	var out strings.Builder
	z := html.NewTokenizer(strings.NewReader(page))
	hidden := atom.Atom(0) // the hidden element around the current token
	for out.Len() <= most*utf8.UTFMax {
		kind := z.Next()
		if kind == html.ErrorToken {
			return strings.TrimSpace(out.String()), false
		}
		switch kind {
		case html.TextToken:
			if hidden == 0 {
				appendText(&out, html.UnescapeString(string(z.Raw())))
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			a := atom.Lookup(name)
			switch {
			case kind == html.StartTagToken && hidden == 0 && slices.Contains(hiddenElements, a):
				hidden = a
			case kind == html.EndTagToken && hidden == a:
				hidden = 0
			case !slices.Contains(inlineElements, a):
				newLine(&out)
			}
		}
	}
	return strings.TrimSpace(out.String()), true
}

// hiddenElements are the elements whose content is not shown. The tokenizer returns their content as text
// up to the end tag.
var hiddenElements = []atom.Atom{atom.Script, atom.Style, atom.Noscript, atom.Iframe, atom.Noembed, atom.Noframes, atom.Textarea}

// inlineElements are the common elements within a line.
var inlineElements = []atom.Atom{
	atom.A, atom.Abbr, atom.B, atom.Big, atom.Cite, atom.Code, atom.Del, atom.Em, atom.Font, atom.I, atom.Ins, atom.Kbd, atom.Mark,
	atom.Q, atom.S, atom.Small, atom.Span, atom.Strong, atom.Sub, atom.Sup, atom.Tt, atom.U, atom.Var, atom.Wbr,
}

// appendText adds text with its white space collapsed.
func appendText(out *strings.Builder, text string) {
	words := strings.Fields(text)
	if len(words) == 0 {
		if text != "" {
			blank(out)
		}
		return
	}
	if strings.TrimLeft(text, " \t\r\n\f") != text {
		blank(out)
	}
	out.WriteString(strings.ToValidUTF8(strings.Join(words, " "), "\ufffd"))
	if strings.TrimRight(text, " \t\r\n\f") != text {
		blank(out)
	}
}

// blank adds a blank within a line, unless one precedes.
func blank(out *strings.Builder) {
	if s := out.String(); s != "" && s[len(s)-1] > ' ' {
		out.WriteByte(' ')
	}
}

// newLine begins a line, unless the output is at the beginning of one.
func newLine(out *strings.Builder) {
	if s := out.String(); s != "" && s[len(s)-1] != '\n' {
		out.WriteByte('\n')
	}
}
