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

// Set is the commands of a session. It is not changed once it is made and safe for
// concurrent use; the zero value has none.
type Set struct {
	all    []*Command // by name
	byName map[string]*Command
	byAlt  map[string]*Command
}

// Assemble makes a Set of what loaders bring. They run side by side under ctx, and
// one that fails or panics loses only its own commands, which is a Problem (CM-06).
// All of them have returned when Assemble does. The error is of code cancelled.
//
// Each name belongs to one command (CM-07). An extension's command whose name is
// taken, as another command's name or other name, is renamed EXTENSION.NAME, with a
// number behind it where that is taken too. Otherwise the later loader wins, and of
// one loader the later command. The one that was there keeps its alternative names,
// the first of which becomes its name; a built-in without one is then called
// built-in.NAME, and anything else is gone. Each such change is told as a Problem.
func Assemble(ctx context.Context, loaders ...Loader) (*Set, []fault.Problem, error) {
	loaded := make([][]*Command, len(loaders))
	told := make([][]fault.Problem, len(loaders))
	var running sync.WaitGroup
	for i, l := range loaders {
		running.Go(func() { loaded[i], told[i] = load(ctx, l) })
	}
	running.Wait()
	if err := ctx.Err(); err != nil {
		return nil, nil, fault.Wrap(fault.Cancelled, "commands.assemble", "Loading the commands was cancelled.", "", err)
	}
	a := assembly{names: map[string]*Command{}, problems: slices.Concat(told...)}
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
		why = "Loading them failed because of a mistake in the program."
	}
	return nil, append(problems, fault.Problem{Path: l.Name(), Message: "None of these commands is there: " + why, Severity: fault.SeverityError})
}

// assembly is the making of a Set.
type assembly struct {
	names      map[string]*Command
	order      []*Command // that have their name; extensions' aside
	displaced  []displacement
	extensions []*Command
	problems   []fault.Problem
}

// displacement is a command that has lost its name to another.
type displacement struct{ lost, to *Command }

// take gives a command its name, unless that is for later.
func (a *assembly) take(c *Command) {
	if c == nil {
		return
	}
	if why := checkName(c.Name); why != "" {
		a.tell(c, true, "", "The command %s is not there: %s.", tools.Quote(c.Name, 60), why)
		return
	}
	if c.ExtensionName != "" {
		a.extensions = append(a.extensions, c)
		return
	}
	if before, taken := a.names[c.Name]; taken {
		a.displaced = append(a.displaced, displacement{before, c})
		a.order = slices.DeleteFunc(a.order, func(other *Command) bool { return other == before })
	}
	a.names[c.Name] = c
	a.order = append(a.order, c)
}

func (a *assembly) tell(about *Command, lost bool, remedy, format string, args ...any) {
	a.problems = append(a.problems, fault.Problem{Path: about.Source, Message: fmt.Sprintf(format, args...), Remedy: remedy, Severity: fault.SeverityOf(lost)})
}

// set settles who is called what.
func (a *assembly) set() *Set {
	for _, d := range a.displaced {
		a.rename(d)
	}
	alt := a.alternatives()
	for _, c := range a.extensions {
		_, taken := a.names[c.Name]
		if _, isAlt := alt[c.Name]; !taken && !isAlt {
			a.add(c)
			continue
		}
		name := a.free(c.ExtensionName+"."+c.Name, alt)
		a.tell(c, false, "", "The extension %s has a command %s, which is there already; it is called /%s.", c.ExtensionName, c.Name, name)
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

// rename finds another name for a command that has lost its own.
func (a *assembly) rename(d displacement) {
	lost := d.lost
	name := ""
	for _, alt := range lost.AltNames {
		if _, taken := a.names[alt]; !taken {
			name = alt
			break
		}
	}
	if name == "" && lost.Kind == KindBuiltIn {
		name = a.free(string(KindBuiltIn)+"."+lost.Name, nil)
	}
	if name == "" {
		a.tell(lost, true, "Rename one of them.", "The command /%s %s takes the place of another of that name %s.", lost.Name, origin(d.to), origin(lost))
		return
	}
	a.tell(d.to, false, "Rename it to have the other under its own name again.", "The command /%s %s takes the place of another of that name %s, which is now /%s.", lost.Name, origin(d.to), origin(lost), name)
	a.add(renamed(lost, name))
}

// origin tells where a command comes from, in brackets.
func origin(c *Command) string {
	if c.Source != "" {
		return "(" + c.Source + ")"
	}
	return "(" + string(c.Kind) + ")"
}

// renamed returns c under another name, which it no longer has besides.
func renamed(c *Command, name string) *Command {
	other := withAltNames(c, slices.DeleteFunc(slices.Clone(c.AltNames), func(alt string) bool { return alt == name }))
	other.Name = name
	return other
}

// free returns name, with a number behind it where it is taken.
func (a *assembly) free(name string, alt map[string]*Command) string {
	for n := 0; ; n++ {
		candidate := name
		if n > 0 {
			candidate += strconv.Itoa(n)
		}
		_, taken := a.names[candidate]
		if _, isAlt := alt[candidate]; !taken && !isAlt {
			return candidate
		}
	}
}

// alternatives are the other names that lead to a command: a name goes before them,
// and of two that are the same the first counts.
func (a *assembly) alternatives() map[string]*Command {
	alt := make(map[string]*Command)
	for _, c := range a.order {
		for _, name := range c.AltNames {
			_, taken := a.names[name]
			if _, isAlt := alt[name]; !taken && !isAlt && checkName(name) == "" {
				alt[name] = c
			}
		}
	}
	return alt
}

// maxName bounds the bytes of a command's name.
const maxName = 200

// checkName says why there can be no command of that name, "" if there can.
func checkName(name string) string {
	switch {
	case name == "":
		return "its name is empty"
	case len(name) > maxName:
		return "its name is too long"
	case name[0] == '/' || name[0] == '*':
		return "its name would begin a comment"
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }):
		return "its name has a blank or a character that cannot be seen"
	}
	return ""
}

// List returns the commands, hidden ones included, in the order of their names.
func (s *Set) List() []*Command { return slices.Clone(s.all) }

// Lookup returns the command of a name or, where there is none, of an alternative
// name; nil if there is none.
func (s *Set) Lookup(name string) *Command {
	if c := s.byName[name]; c != nil {
		return c
	}
	return s.byAlt[name]
}

// below returns the sub-command of a name or, where there is none, of an
// alternative name.
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
