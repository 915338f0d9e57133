package commandfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy/shell"
)

// commandLine replaces each {{args}} in a command by args, and each ${NAME} by the value
// of its variable, so that bash reads them as text. They are quoted if they form a word
// or a part of one, and escaped if the command has quotes around them. Empty args are
// replaced by nothing. In other positions, as in a here-document or after eval, bash
// might run the value; then, and for a command beyond its [shell.Bounds], the error is
// of code invalid_config. It is of code invalid_tool_params for args with a NUL. The
// treatment of arguments by the called program is not analysed, nor is a command in an
// assigned variable.
func commandLine(command, args string, variables map[string]string) (string, error) {
	m := marksOf(command, args != "", variables)
	if len(m.marks) == 0 {
		return strings.TrimSpace(m.texts[0]), nil
	}
	if strings.ContainsRune(args, 0) && slices.Contains(m.marks, argsMark) {
		return "", fault.New(fault.InvalidToolParams, "commands.template", "The arguments contain a NUL byte, which a command cannot receive.", "Leave it out.")
	}
	stand := standIn(command)
	whole := strings.Join(m.texts, stand)
	if err := shell.Bounds(whole); err != nil {
		return "", fault.New(fault.InvalidConfig, "commands.template",
			fmt.Sprintf("The command !{%s} cannot be parsed (%v), so %s cannot be replaced.", short(command), err, m.marks[0]), "Put it into a script, and run that.")
	}
	places, ok := shell.Places(whole, stand)
	ok = ok && len(places) == len(m.marks)
	var b strings.Builder
	for i, mark := range m.marks {
		value := args
		if mark != argsMark {
			value = variables[mark[2:len(mark)-1]]
		}
		if !ok || places[i].Write == nil || places[i].Sourced && mark == argsMark || strings.HasSuffix(m.texts[i], `\`) || strings.ContainsRune(value, 0) {
			return "", fault.New(fault.InvalidConfig, "commands.template",
				fmt.Sprintf("In the command !{%s} bash could run the value of %s.", command, mark),
				fmt.Sprintf("Use %s as a word, or as part of a word or a quoted text, and not as an argument of a command like eval; otherwise assign it to a variable.", mark))
		}
		b.WriteString(m.texts[i])
		b.WriteString(places[i].Write(value))
	}
	b.WriteString(m.texts[len(m.marks)])
	return b.String(), nil
}

// marked is a command in pieces: text and marks alternate.
type marked struct{ texts, marks []string }

// marksOf finds the marks of a command, including those of variables. An empty {{args}}
// is removed.
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

// standIn is a word that does not occur in the command.
func standIn(command string) string {
	word := "fettleargs"
	for strings.Contains(command, word) {
		word += "x"
	}
	return word
}
