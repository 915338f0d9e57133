package discovered

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/fettle-dev/fettle/core/fault"
)

// Words splits the command line of a setting into a program and its arguments,
// as a shell would. A word is literal text, quoted or not; there is at least one.
// The error is of code invalid_config and names the setting.
func Words(setting, line string) ([]string, error) {
	list, err := split(line)
	if err != nil {
		return nil, fault.New(fault.InvalidConfig, "discovered.words",
			fmt.Sprintf("The setting %s is %.200q, which cannot be run: %v.", setting, line, err),
			"Give a program and its arguments, quoted where they need it; put anything else into a script.")
	}
	return list, nil
}

func split(line string) ([]string, error) {
	if strings.ContainsAny(strings.TrimSpace(line), "\n\r\x00") {
		return nil, errors.New("it is more than one line")
	}
	var list []string
	for w, err := range syntax.NewParser(syntax.Variant(syntax.LangBash)).WordsSeq(strings.NewReader(line)) {
		if err != nil {
			return nil, fmt.Errorf("no shell runs it, and it is not words alone: %w", err)
		}
		text, err := literal(w)
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
func literal(w *syntax.Word) (string, error) {
	var b strings.Builder
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			text, err := unescape(p.Value, i == 0)
			if err != nil {
				return "", err
			}
			b.WriteString(text)
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", noShell(part)
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			text, err := quoted(p)
			if err != nil {
				return "", err
			}
			b.WriteString(text)
		default:
			return "", noShell(part)
		}
	}
	return b.String(), nil
}

// unescape takes the backslashes off unquoted text.
func unescape(text string, first bool) (string, error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case strings.IndexByte("*?[{", c) >= 0, c == '~' && first && i == 0:
			return "", fmt.Errorf("no shell runs it, which would expand %q; quote it where it is meant as it is", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

// quoted returns the text between double quotes.
func quoted(q *syntax.DblQuoted) (string, error) {
	if q.Dollar {
		return "", noShell(q)
	}
	var b strings.Builder
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return "", noShell(part)
		}
		b.WriteString(strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, `$`, "\\`", "`").Replace(lit.Value))
	}
	return b.String(), nil
}

// noShell says that a part of a word needs a shell.
func noShell(part syntax.WordPart) error {
	var b strings.Builder
	if err := syntax.NewPrinter().Print(&b, part); err != nil {
		return err
	}
	return fmt.Errorf("no shell runs it, which %.100q would need", b.String())
}
