package commandfile

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/position"
	"github.com/fettle-dev/fettle/core/policy/shell"
	"github.com/fettle-dev/fettle/core/tools/toollist"
)

// shellLimit restricts the shell commands of a prompt to those that allowed-tools lists.
// It permits nothing that policy does not permit.
type shellLimit struct {
	any      bool       // all commands
	prefixes [][]string // the words with which a command may begin
}

// limitOf reads a list of tools, or a text with commas; nil if it is neither. An entry
// that cannot be parsed permits no command.
func limitOf(n position.Node, variables map[string]string) *shellLimit {
	var entries []string
	switch v := n.Value.(type) {
	case nil:
	case []position.Node:
		for _, item := range v {
			text, ok := item.Text()
			if !ok {
				return nil
			}
			entries = append(entries, text)
		}
	default:
		text, ok := n.Text()
		if !ok {
			return nil
		}
		entries = splitEntries(text)
	}
	quoted := map[string]string{}
	for name, value := range variables {
		quoted[name] = shell.Quote([]string{value})
	}
	t := template{variables: quoted}
	l := &shellLimit{}
	for _, text := range entries {
		e := toollist.ParseEntry(text)
		switch {
		case e.Name == "*":
			l.any = true
		case !e.Shell() && !slices.Contains((toollist.Entry{Name: e.Name, Patterned: true}).Foreign(), shellTool):
		case e.Whole():
			l.any = true
		default:
			e.Pattern = t.filled(bareRoot().ReplaceAllString(e.Pattern, "${${1}}"))
			prefixes, err := e.Commands()
			if err != nil {
				continue
			}
			for _, prefix := range prefixes {
				if words, err := shell.Prefix(prefix); err == nil {
					l.prefixes = append(l.prefixes, words)
				}
			}
		}
	}
	return l
}

// shellTool is the tool that runs commands.
const shellTool = "run_shell_command"

// splitEntries splits a list at commas and blanks outside of brackets.
func splitEntries(text string) []string {
	var all []string
	depth, from := 0, 0
	for i, r := range text {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth = max(depth-1, 0)
		case depth == 0 && (r == ',' || r == ' ' || r == '\n'):
			all = append(all, text[from:i])
			from = i + 1
		}
	}
	all = append(all, text[from:])
	return slices.DeleteFunc(all, func(entry string) bool { return strings.TrimSpace(entry) == "" })
}

// refuse returns an error for a line with a command that the list does not cover. l may
// be nil, which permits every line.
func (l *shellLimit) refuse(command, line string) error {
	if l == nil || l.any || l.covers(line) {
		return nil
	}
	return fault.New(fault.PolicyViolation, "commands.shell",
		"The command /"+command+" runs "+short(line)+", which its allowed-tools do not list; nothing was run.", "Add Bash(COMMAND:*) to its allowed-tools.")
}

func (l *shellLimit) covers(line string) bool {
	parsed := shell.Parse(line)
	if parsed.Problem != "" || len(parsed.Parts) == 0 {
		return false
	}
	for _, part := range parsed.Parts {
		switch {
		case part.Kind == shell.Unknown:
			return false
		case len(part.Words) == 0: // a redirection
			return false
		case !slices.ContainsFunc(l.prefixes, func(prefix []string) bool { return begins(part.Words, prefix) }):
			return false
		}
	}
	return true
}

// begins reports whether the words of a command begin with a prefix.
func begins(words []shell.Word, prefix []string) bool {
	if len(words) < len(prefix) {
		return false
	}
	for i, text := range prefix {
		if !words[i].Static || words[i].Text != text {
			return false
		}
	}
	return true
}
