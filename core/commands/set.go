package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// Set is the commands of a session. It is immutable and safe for concurrent use; the
// zero value has none.
type Set struct {
	all    []*Command // by name
	byName map[string]*Command
	byAlt  map[string]*Command
}

// Assemble creates a Set from the commands of loaders. The loaders run concurrently
// under ctx. If one fails or panics, only its own commands are missing, which is a
// Problem. All of them have returned when Assemble does. The error is of code cancelled.
//
// Each name belongs to one command. If the name of an extension's command is in use,
// also as an alternative name, the command is renamed EXTENSION.NAME, with a number
// appended if that is in use too. Otherwise the later loader wins, and within a loader
// the later command. The earlier command keeps its alternative names, the first of which
// becomes its name. A built-in command without one is renamed built-in.NAME, and any
// other is dropped. Each such change is reported as a Problem.
func Assemble(ctx context.Context, loaders ...Loader) (*Set, []fault.Problem, error) {
	loaded := make([][]*Command, len(loaders))
	reported := make([][]fault.Problem, len(loaders))
	var running sync.WaitGroup
	for i, l := range loaders {
		running.Go(func() { loaded[i], reported[i] = load(ctx, l) })
	}
	running.Wait()
	if err := ctx.Err(); err != nil {
		return nil, nil, fault.Wrap(fault.Cancelled, "commands.assemble", "Loading the commands was cancelled.", "", err)
	}
	a := assembly{names: map[string]*Command{}, problems: slices.Concat(reported...)}
	for _, c := range slices.Concat(loaded...) {
		a.take(c)
	}
	return a.set(), a.problems, nil
}

// load runs one loader.
func load(ctx context.Context, l Loader) (all []*Command, problems []fault.Problem) {
	err := tools.Protect(l.Name(), "load commands", func() (err error) {
		all, problems, err = l.Load(ctx)
		return err
	})
	if err == nil {
		return all, problems
	}
	why := err.Error() + "."
	if f := fault.As(err); f != nil {
		why = f.Message
	}
	if d := (*tools.Defect)(nil); errors.As(err, &d) {
		why = "Loading them failed because of a defect in the program."
	}
	return nil, append(problems, fault.Problem{Path: l.Name(), Message: "None of these commands is available: " + why, Severity: fault.SeverityError})
}

// assembly is the state of Assemble.
type assembly struct {
	names      map[string]*Command
	order      []*Command // the commands that have their name, except those of extensions
	displaced  []displacement
	extensions []*Command
	problems   []fault.Problem
}

// displacement is a command that has lost its name to another one.
type displacement struct{ from, to *Command }

// take gives a command its name, or defers it.
func (a *assembly) take(c *Command) {
	if c == nil {
		return
	}
	if why := checkName(c.Name); why != "" {
		a.tell(c, true, "", "The command %s is not available: %s.", tools.Quote(c.Name, 60), why)
		return
	}
	if c.ExtensionName != "" {
		a.extensions = append(a.extensions, c)
		return
	}
	if before, used := a.names[c.Name]; used {
		a.displaced = append(a.displaced, displacement{before, c})
		a.order = slices.DeleteFunc(a.order, func(other *Command) bool { return other == before })
	}
	a.names[c.Name] = c
	a.order = append(a.order, c)
}

func (a *assembly) tell(about *Command, dropped bool, remedy, format string, args ...any) {
	a.problems = append(a.problems, fault.Problem{Path: about.Source, Message: fmt.Sprintf(format, args...), Remedy: remedy, Severity: fault.SeverityOf(dropped)})
}

// set resolves the names.
func (a *assembly) set() *Set {
	for _, d := range a.displaced {
		a.rename(d)
	}
	alt := a.alternatives()
	for _, c := range a.extensions {
		_, used := a.names[c.Name]
		if _, isAlt := alt[c.Name]; !used && !isAlt {
			a.add(c)
			continue
		}
		name := a.free(c.ExtensionName+"."+c.Name, alt)
		a.tell(c, false, "", "The name of the command %[2]s of the extension %[1]s is in use; it is renamed /%[3]s.", c.ExtensionName, c.Name, name)
		a.add(renamed(c, name))
	}
	s := &Set{byName: a.names, byAlt: a.alternatives()}
	for _, c := range a.order {
		if own := slices.DeleteFunc(slices.Clone(c.AltNames), func(alt string) bool { return s.byAlt[alt] != c }); len(own) < len(c.AltNames) {
			c = withAltNames(c, own)
			s.byName[c.Name] = c
			for _, alt := range own {
				s.byAlt[alt] = c
			}
		}
		s.all = append(s.all, c)
	}
	slices.SortFunc(s.all, func(x, y *Command) int { return cmp.Compare(x.Name, y.Name) })
	return s
}

func withAltNames(c *Command, names []string) *Command {
	other := *c
	other.AltNames = names
	return &other
}

func (a *assembly) add(c *Command) {
	a.names[c.Name] = c
	a.order = append(a.order, c)
}

// rename finds a new name for a displaced command.
func (a *assembly) rename(d displacement) {
	from := d.from
	name := ""
	for _, alt := range from.AltNames {
		if _, used := a.names[alt]; !used {
			name = alt
			break
		}
	}
	if name == "" && from.Kind == KindBuiltIn {
		name = a.free(string(KindBuiltIn)+"."+from.Name, nil)
	}
	if name == "" {
		a.tell(from, true, "Rename one of them.", "The command /%s %s replaces the command of the same name %s.", from.Name, origin(d.to), origin(from))
		return
	}
	a.tell(d.to, false, "Rename it to restore the name of the other.", "The command /%s %s replaces the command of the same name %s, which is renamed /%s.", from.Name, origin(d.to), origin(from), name)
	a.add(renamed(from, name))
}

// origin returns the origin of a command, in brackets.
func origin(c *Command) string {
	if c.Source != "" {
		return "(" + c.Source + ")"
	}
	return "(" + string(c.Kind) + ")"
}

// renamed returns c with another name, which is removed from its alternative names.
func renamed(c *Command, name string) *Command {
	other := withAltNames(c, slices.DeleteFunc(slices.Clone(c.AltNames), func(alt string) bool { return alt == name }))
	other.Name = name
	return other
}

// free returns name, with a number appended if it is in use.
func (a *assembly) free(name string, alt map[string]*Command) string {
	for n := 0; ; n++ {
		candidate := name
		if n > 0 {
			candidate += strconv.Itoa(n)
		}
		_, used := a.names[candidate]
		if _, isAlt := alt[candidate]; !used && !isAlt {
			return candidate
		}
	}
}

// alternatives maps alternative names to commands: names take precedence, and of equal
// alternatives the first one wins.
func (a *assembly) alternatives() map[string]*Command {
	alt := make(map[string]*Command)
	for _, c := range a.order {
		for _, name := range c.AltNames {
			_, used := a.names[name]
			if _, isAlt := alt[name]; !used && !isAlt && checkName(name) == "" {
				alt[name] = c
			}
		}
	}
	return alt
}

// maxName bounds the bytes of a command's name.
const maxName = 200

// checkName returns the problem of an invalid name, "" if it is valid.
func checkName(name string) string {
	switch {
	case name == "":
		return "its name is empty"
	case len(name) > maxName:
		return "its name is too long"
	case name[0] == '/' || name[0] == '*':
		return "its name would begin a comment"
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }):
		return "its name has a space or an invisible character"
	}
	return ""
}

// List returns the commands, including hidden ones, sorted by name.
func (s *Set) List() []*Command { return slices.Clone(s.all) }

// Lookup returns the command with a name or else with an alternative name; nil if there
// is none.
func (s *Set) Lookup(name string) *Command {
	if c := s.byName[name]; c != nil {
		return c
	}
	return s.byAlt[name]
}

// below returns the sub-command with a name or else with an alternative name.
func below(c *Command, name string) *Command {
	for _, sub := range c.SubCommands {
		if sub.Name == name {
			return sub
		}
	}
	for _, sub := range c.SubCommands {
		if slices.Contains(sub.AltNames, name) {
			return sub
		}
	}
	return nil
}
