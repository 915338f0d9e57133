package integration_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/policy"
)

// askingFamilies are the families of commands that ask, by their names.
type askingFamilies map[string]*askingFamily

// askingFamily is a program, one of its subcommands, or a tool.
type askingFamily struct {
	inDefault, inAuto int      // calls
	why               []string // without duplicates
}

// add adds a call to the families of its parts that ask.
func (all askingFamilies) add(p askedCall, auto bool) {
	found := make(map[string]string)
	switch {
	case p.call.Args["unconfined"] == true && auto:
		for _, part := range p.Parts {
			if name := familyOf(part.Text); !slices.Contains([]string{"cd", "echo"}, name) {
				found[name] = "passes `unconfined`: " + fmt.Sprint(p.call.Args["reason"])
			}
		}
	case len(p.Parts) == 0:
		found["`"+p.call.Tool+"`"] = "changes a file"
	}
	for _, part := range p.Parts {
		if part.Decision != policy.AskUser || len(found) > 0 && auto || strings.IndexAny(part.Text, "-$…") == 0 {
			continue // of words that may be options, their command asks too
		}
		_, why, listed := strings.Cut(part.Reason, "as a read-only command: ")
		switch {
		case strings.HasSuffix(why, "is not known."):
			why = "not installed on the machine of the count"
		case strings.HasSuffix(why, "which is not a program of the system."):
			why = "its file is not in a directory of the system"
		case listed:
		case strings.HasPrefix(part.Reason, "No rule allows"):
			why = "not in the table of read-only programs"
		default:
			why = part.Reason
		}
		found[familyOf(part.Text)] = strings.TrimSuffix(why, ".")
	}
	for name, why := range found {
		f := all[name]
		if f == nil {
			f = new(askingFamily)
			all[name] = f
		}
		if auto {
			f.inAuto++
		} else {
			f.inDefault++
		}
		if !slices.Contains(f.why, why) {
			f.why = append(f.why, why)
		}
	}
}

// familyOf returns the program of a command, with its subcommand if it has some.
func familyOf(command string) string {
	words := strings.Fields(command)
	if len(words) == 0 {
		return "a file"
	}
	if words[0] == ">" || words[0] == ">>" {
		return "`>`"
	}
	if len(words) > 1 && slices.Contains([]string{"git", "go", "npm", "npx", "pip"}, words[0]) && !strings.HasPrefix(words[1], "-") {
		return "`" + words[0] + " " + words[1] + "`"
	}
	return "`" + words[0] + "`"
}

// table lists the families, those that ask most often first.
func (all askingFamilies) table() string {
	var b strings.Builder
	b.WriteString("| commands | `default` | `auto` | why |\n|---|---|---|---|\n")
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(all[b].inAuto, all[a].inAuto), cmp.Compare(all[b].inDefault, all[a].inDefault), cmp.Compare(a, b))
	})
	for _, name := range names {
		f := all[name]
		slices.Sort(f.why)
		fmt.Fprintf(&b, "| %s | %d | %d | %s |\n", name, f.inDefault, f.inAuto, strings.ReplaceAll(strings.Join(f.why, "; "), "|", "\\|"))
	}
	return b.String()
}
