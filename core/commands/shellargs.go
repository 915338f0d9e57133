package commands

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/fettle-dev/fettle/core/fault"
)

// commandLine puts args into a command in the place of each {{args}}, and the values
// of variables in that of each ${NAME}, so that bash takes them as text: in quotes
// where they stand for a word or a part of one, and escaped where the command has
// quotes around them already. Where there are no args nothing is put in for them.
// Elsewhere, as in a here-document or behind eval, bash might run what is put in, and
// the error, of code invalid_config, says so; it is of code invalid_tool_params for
// args with a NUL. What a program makes of its arguments, or the command of a
// variable that it has assigned one to, is not looked into.
func commandLine(command, args string, variables map[string]string) (string, error) {
	m := marksOf(command, args != "", variables)
	if len(m.marks) == 0 {
		return strings.TrimSpace(m.texts[0]), nil
	}
	if strings.ContainsRune(args, 0) && slices.Contains(m.marks, argsMark) {
		return "", fault.New(fault.InvalidToolParams, "commands.template", "The arguments hold a NUL byte, which no command can be given.", "Leave it out.")
	}
	stand := standIn(command)
	places, ok := surroundings(strings.Join(m.texts, stand), stand)
	ok = ok && len(places) == len(m.marks)
	var b strings.Builder
	for i, mark := range m.marks {
		value := args
		if mark != argsMark {
			value = variables[mark[2:len(mark)-1]]
		}
		if !ok || places[i].write == nil || places[i].program && mark == argsMark || strings.HasSuffix(m.texts[i], `\`) || strings.ContainsRune(value, 0) {
			return "", fault.New(fault.InvalidConfig, "commands.template",
				fmt.Sprintf("In the command !{%s} bash could run what stands in %s.", command, mark),
				fmt.Sprintf("Let %s be a word of its own, or a part of one or of a text in quotes, and no argument of a command as eval; assign it to a variable for anything else.", mark))
		}
		b.WriteString(m.texts[i])
		b.WriteString(places[i].write(value))
	}
	b.WriteString(m.texts[len(m.marks)])
	return b.String(), nil
}

// marked is a command in pieces: a text, a mark, a text, and so on.
type marked struct{ texts, marks []string }

// marksOf finds the marks of a command, those of variables among them. Where {{args}}
// stands for nothing, it is left out.
func marksOf(command string, hasArgs bool, variables map[string]string) marked {
	var m marked
	var text strings.Builder
	for at := 0; at < len(command); {
		n := len(variableMark(command[at:], variables))
		isArgs := strings.HasPrefix(command[at:], argsMark)
		switch {
		case isArgs && !hasArgs:
			at += len(argsMark)
			continue
		case isArgs:
			n = len(argsMark)
		case n == 0:
			text.WriteByte(command[at])
			at++
			continue
		}
		m.texts, m.marks = append(m.texts, text.String()), append(m.marks, command[at:at+n])
		text.Reset()
		at += n
	}
	m.texts = append(m.texts, text.String())
	return m
}

// standIn is a word that the command does not hold.
func standIn(command string) string {
	word := "fettleargs"
	for strings.Contains(command, word) {
		word += "x"
	}
	return word
}

// place is where a stand-in stands.
type place struct {
	at      uint
	write   func(string) string // how another text is written there; nil: not at all
	program bool                // it is an argument of what reads a file as a program
}

// surroundings returns the places of the stand-ins in the texts of a command, in the
// order in which they stand. It is false where nobody knows. Those in comments, names
// and the like are left out.
func surroundings(command, stand string) ([]place, bool) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return nil, false
	}
	r := reader{stand: stand, computed: computed(file)}
	var found []place
	var above []syntax.Node
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return true
		}
		text, write := r.literal(n, above)
		for range strings.Count(text, stand) {
			found = append(found, place{n.Pos().Offset(), write, slices.ContainsFunc(above, isSource)})
		}
		above = append(above, n)
		return true
	})
	slices.SortStableFunc(found, func(a, b place) int { return cmp.Compare(a.at, b.at) })
	return found, true
}

func isSource(n syntax.Node) bool {
	call, ok := n.(*syntax.CallExpr)
	return ok && sources(call)
}

// reader reads the texts of one command.
type reader struct {
	stand    string
	computed map[string]bool // see computed
}

// literal returns the text of a node that is nothing but text, and how other text
// is written there; nil: not at all.
func (r reader) literal(n syntax.Node, above []syntax.Node) (text string, write func(string) string) {
	switch n := n.(type) {
	case *syntax.SglQuoted:
		if !n.Dollar && !r.unsafe(above) {
			write = inSingleQuotes
		}
		return n.Value, write
	case *syntax.Lit:
		if len(above) == 0 || r.unsafe(above) {
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
// and quotes, or runs what a word holds.
func (r reader) unsafe(above []syntax.Node) bool {
	for i, n := range above {
		var next syntax.Node // the part of n that the text is in
		if i+1 < len(above) {
			next = above[i+1]
		}
		switch n := n.(type) {
		case *syntax.CmdSubst:
			if n.Backquotes {
				return true // their content is unescaped once more
			}
		case *syntax.Redirect:
			if n.Hdoc != nil && next == n.Hdoc {
				return true
			}
		case *syntax.Assign:
			if n.Index != nil && next == n.Index || n.Name != nil && isEvaluated(n.Name.Value, r.computed) {
				return true
			}
		case *syntax.ArrayElem:
			if n.Index != nil && next == n.Index {
				return true
			}
		case *syntax.WordIter:
			if isEvaluated(n.Name.Value, r.computed) {
				return true
			}
		case *syntax.DeclClause: // what it assigns to an array may be a list, in quotes too
			if n.Variant.Value != "export" || slices.ContainsFunc(n.Args, func(a *syntax.Assign) bool { return a.Name == nil }) {
				return true
			}
		case *syntax.CallExpr:
			if next != nil && evaluates(n, next, r.stand) {
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
