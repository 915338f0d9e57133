package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// Match is the result of parsing a line.
type Match struct {
	// IsCommand: the line begins with a slash; the command may be unknown. Other lines
	// are for the model.
	IsCommand bool
	Command   *Command // nil: no such command
	Invocation
	near []string // similar names if Command is nil, the nearest first
}

// Parse parses a line: "/", the name or alternative name of a command, names of
// sub-commands, and arguments, which are the rest of the line without surrounding
// spaces. Lines that begin with // or /* are comments, not commands. Leading spaces are
// ignored.
func (s *Set) Parse(line string) Match {
	m := Match{Invocation: Invocation{Raw: strings.TrimSpace(line)}}
	rest, ok := cutSlash(m.Raw)
	if !ok {
		return m
	}
	m.IsCommand = true
	m.Name, rest = cutWord(rest)
	c := s.Lookup(m.Name)
	if c == nil {
		m.Args, m.near = rest, s.near(m.Name)
		return m
	}
	m.Name = c.Name
	for {
		word, after := cutWord(rest)
		sub := below(c, word)
		if sub == nil || sub.NoArgs && after != "" && c.Action != nil {
			m.Command, m.Args = c, rest
			return m
		}
		c, rest = sub, after
		m.Name += " " + c.Name
	}
}

// cutSlash returns the text after the slash of a command line.
func cutSlash(line string) (string, bool) {
	if strings.HasPrefix(line, "//") || strings.HasPrefix(line, "/*") {
		return "", false
	}
	return strings.CutPrefix(line, "/")
}

// cutWord returns the first word of text, which does not begin with a space, and the
// trimmed rest.
func cutWord(text string) (word, rest string) {
	end := strings.IndexFunc(text, unicode.IsSpace)
	if end < 0 {
		return text, ""
	}
	return text[:end], strings.TrimSpace(text[end:])
}

// Run runs the command of the line with c, whose Invocation it sets. It returns the
// error of the command. Further errors are of code invalid_tool_params for an unknown
// name or a missing sub-command, unhandled_exception after a panic, and execution_failed
// for an error of another type.
func (m Match) Run(ctx context.Context, c *Context) (Result, error) {
	switch {
	case m.Command == nil:
		return nil, m.unknown()
	case m.Command.Action == nil:
		return nil, m.incomplete()
	}
	c.Invocation = m.Invocation
	var result Result
	err := tools.Protect("/"+m.Name, "run", func() (err error) {
		result, err = m.Command.Action(ctx, c, m.Args)
		return err
	})
	switch d := (*tools.Defect)(nil); {
	case err == nil || fault.As(err) != nil:
		return result, err
	case errors.As(err, &d):
		return nil, fault.Wrap(fault.UnhandledException, "commands.run", fmt.Sprintf("The command /%s failed because of a defect.", m.Name), "", err)
	}
	return nil, fault.Wrap(fault.ExecutionFailed, "commands.run", fmt.Sprintf("The command /%s failed: %s.", m.Name, err), "", err)
}

// unknown returns the error of an unknown name.
func (m Match) unknown() error {
	remedy := "/help lists the commands."
	if len(m.near) > 0 {
		remedy = "Did you mean /" + strings.Join(m.near, ", /") + "? " + remedy
	}
	if strings.Contains(m.Name, "/") {
		remedy = "To say this to the model, begin with a word. " + remedy
	}
	return fault.New(fault.InvalidToolParams, "commands.parse", fmt.Sprintf("There is no command /%s.", strings.Trim(tools.Quote(m.Name, 60), `"`)), remedy)
}

// incomplete returns the error of a command without the required sub-command.
func (m Match) incomplete() error {
	var names []string
	for _, sub := range m.Command.SubCommands {
		if !sub.Hidden {
			names = append(names, sub.Name)
		}
	}
	remedy := fmt.Sprintf("Type /%s and one of: %s.", m.Name, strings.Join(names, ", "))
	word, _ := cutWord(m.Args)
	if word == "" {
		return fault.New(fault.InvalidToolParams, "commands.parse", fmt.Sprintf("/%s requires a sub-command.", m.Name), remedy)
	}
	return fault.New(fault.InvalidToolParams, "commands.parse", fmt.Sprintf("/%s has no sub-command %s.", m.Name, tools.Quote(word, 60)), remedy)
}

// near returns up to three command names that are similar to an unknown one.
func (s *Set) near(name string) []string {
	if name == "" || len(name) > 64 {
		return nil
	}
	type candidate struct {
		name string
		far  int
	}
	var found []candidate
	look := func(other string) {
		far := distance(name, other)
		if strings.HasPrefix(other, name) && len(name) > 1 {
			far = min(far, 1)
		}
		if far <= max(1, len(name)/3) {
			found = append(found, candidate{other, far})
		}
	}
	for _, c := range s.all {
		if c.Hidden {
			continue
		}
		look(c.Name)
		for _, alt := range c.AltNames {
			look(alt)
		}
	}
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.name, b.name)) })
	var names []string
	for _, f := range found[:min(len(found), 3)] {
		names = append(names, f.name)
	}
	return names
}

// distance returns the number of bytes to insert, delete, replace or swap with a
// neighbour to turn a into b.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
