package shell

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Words splits a line into a program and its arguments as bash would, for a
// program that is started without a shell. Each word is literal text, quoted or
// not; there is at least one. The error names the construct that requires a
// shell, as a clause.
func Words(line string) ([]string, error) {
	if strings.ContainsAny(strings.TrimSpace(line), "\n\r\x00") {
		return nil, errors.New("it is more than one line")
	}
	var list []string
	for w, err := range syntax.NewParser(syntax.Variant(syntax.LangBash)).WordsSeq(strings.NewReader(line)) {
		if err != nil {
			return nil, fmt.Errorf("no shell runs it, and it is not words alone: %w", err)
		}
		text, err := literal(line, w)
		if err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	switch {
	case len(list) == 0 || list[0] == "":
		return nil, errors.New("it names no program")
	case syntax.ValidName(strings.SplitN(list[0], "=", 2)[0]) && strings.Contains(list[0], "="):
		return nil, errors.New("no shell runs it, which would set a variable")
	}
	return list, nil
}

// literal returns the text of a word that is literal text.
func literal(line string, w *syntax.Word) (string, error) {
	if part := dynamicPart(w.Parts); part != nil {
		var b strings.Builder
		if err := syntax.NewPrinter().Print(&b, part); err != nil {
			return "", err
		}
		return "", fmt.Errorf("no shell runs it, which %.100q would need", b.String())
	}
	if ws := newAnalysis(line).words([]*syntax.Word{w}); len(ws) == 1 && ws[0].Static && !ws[0].home {
		return ws[0].Text, nil
	}
	return "", fmt.Errorf("no shell runs it, which would expand %q; quote it where it is meant as it is", expanded(w))
}

// dynamicPart returns the first part that is not literal text, or only by $'…'.
func dynamicPart(parts []syntax.WordPart) syntax.WordPart {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
		case *syntax.SglQuoted:
			if p.Dollar {
				return p
			}
		case *syntax.DblQuoted:
			if p.Dollar {
				return p
			}
			if inner := dynamicPart(p.Parts); inner != nil {
				return inner
			}
		default:
			return part
		}
	}
	return nil
}

// expanded returns the character of a word that bash expands.
func expanded(w *syntax.Word) rune {
	for _, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		for i := 0; ok && i < len(lit.Value); i++ {
			switch c := lit.Value[i]; {
			case c == '\\':
				i++
			case strings.IndexByte("*?[{", c) >= 0:
				return rune(c)
			}
		}
	}
	return '~'
}
