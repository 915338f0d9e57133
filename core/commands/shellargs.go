package commands

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/fettle-dev/fettle/core/fault"
)

// commandLine puts args into a command in the place of each {{args}}, so that bash
// takes them as text: in quotes where they stand for a word or a part of one, and
// escaped where the command has quotes around them already. Where there are no args
// nothing is put in. Elsewhere, as in a here-document, bash might run what is in
// args, and the error, of code invalid_config, says so; it is of code
// invalid_tool_params for args with a NUL.
func commandLine(command, args string) (string, error) {
	parts := strings.Split(command, argsMark)
	if len(parts) == 1 {
		return command, nil
	}
	if strings.ContainsRune(args, 0) {
		return "", fault.New(fault.InvalidToolParams, "commands.template", "The arguments hold a NUL byte, which no command can be given.", "Leave it out.")
	}
	if args == "" {
		return strings.TrimSpace(strings.Join(parts, "")), nil
	}
	stand := standIn(command)
	around, ok := surroundings(strings.Join(parts, stand), stand)
	if !ok || len(around) != len(parts)-1 || strings.Contains(command, `\`+argsMark) {
		return "", fault.New(fault.InvalidConfig, "commands.template",
			fmt.Sprintf("In the command !{%s} bash could run what stands in {{args}}.", command),
			"Let {{args}} be a word of its own, or a part of one or of a text in quotes; assign it to a variable for anything else.")
	}
	var b strings.Builder
	for i, part := range parts {
		b.WriteString(part)
		if i < len(around) {
			b.WriteString(around[i](args))
		}
	}
	return b.String(), nil
}

// standIn is a word that the command does not hold.
func standIn(command string) string {
	word := "fettleargs"
	for strings.Contains(command, word) {
		word += "x"
	}
	return word
}

// surroundings returns, for the stand-ins in the texts of a command, how another
// text is written there, in the order in which they stand. It is false where one
// stands where no text is safe, or nobody knows. Those in comments, names and the
// like are left out.
func surroundings(command, stand string) ([]func(string) string, bool) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return nil, false
	}
	type place struct {
		at    uint
		write func(string) string
	}
	var found []place
	var above []syntax.Node
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return true
		}
		text, write := literal(n, above)
		for range strings.Count(text, stand) {
			found = append(found, place{n.Pos().Offset(), write})
		}
		above = append(above, n)
		return true
	})
	slices.SortStableFunc(found, func(a, b place) int { return cmp.Compare(a.at, b.at) })
	var all []func(string) string
	for _, p := range found {
		if p.write == nil {
			return nil, false
		}
		all = append(all, p.write)
	}
	return all, true
}

// literal returns the text of a node that is nothing but text, and how other text
// is written there; nil: not at all.
func literal(n syntax.Node, above []syntax.Node) (text string, write func(string) string) {
	switch n := n.(type) {
	case *syntax.SglQuoted:
		if !n.Dollar && !unsafe(above) {
			write = inSingleQuotes
		}
		return n.Value, write
	case *syntax.Lit:
		if len(above) == 0 || unsafe(above) {
			return n.Value, nil
		}
		switch above[len(above)-1].(type) {
		case *syntax.DblQuoted:
			write = inDoubleQuotes
		case *syntax.Word:
			write = quoted
		}
		return n.Value, write
	}
	return "", nil
}

// unsafe reports whether bash reads text there by other rules than those of words
// and quotes.
func unsafe(above []syntax.Node) bool {
	for i, n := range above {
		isNext := func(part syntax.Node) bool { return i+1 < len(above) && above[i+1] == part }
		switch n := n.(type) {
		case *syntax.CmdSubst:
			if n.Backquotes {
				return true // their content is unescaped once more
			}
		case *syntax.Redirect:
			if n.Hdoc != nil && isNext(n.Hdoc) {
				return true
			}
		case *syntax.Assign:
			if n.Index != nil && isNext(n.Index) {
				return true
			}
		case *syntax.ArrayElem:
			if n.Index != nil && isNext(n.Index) {
				return true
			}
		case *syntax.ParamExp, *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.ExtGlob, *syntax.BraceExp,
			*syntax.TestClause, *syntax.CStyleLoop:
			return true
		}
	}
	return false
}

// quoted is text as a word, or a part of one.
func quoted(text string) string { return "'" + inSingleQuotes(text) + "'" }

// inSingleQuotes is text within single quotes.
func inSingleQuotes(text string) string { return strings.ReplaceAll(text, "'", `'\''`) }

// inDoubleQuotes is text within double quotes.
func inDoubleQuotes(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(text)
}
