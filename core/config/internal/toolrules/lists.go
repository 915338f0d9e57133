// Package toolrules makes policy rules of lists of tools, and of files that cannot be
// read.
package toolrules

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/shell"
)

// Place is where an entry of a list was given.
type Place struct {
	Source string // as the path of a file
	Line   int    // 1-based; 0: the source as a whole
	Rule   string // names the rule that the entry is; "": a name made of the entry
}

// String returns SOURCE:LINE, or SOURCE where there is no line.
func (p Place) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d", p.Source, p.Line)
	}
	return p.Source
}

// Listed are the rules of the entries of a list, by [Allowed] or [Confirmed]. from
// tells where an entry was given.
func Listed(entries []string, from func(entry string) Place, rule func(entry string, place Place) (policy.Rule, bool, error)) ([]policy.Rule, error) {
	var all []policy.Rule
	for _, entry := range entries {
		r, ok, err := rule(entry, from(entry))
		if err != nil {
			return nil, err
		}
		if ok {
			all = append(all, r)
		}
	}
	return all, nil
}

// Exclusions are the rules that deny tools, with the places of those that are
// known. Like the registry they leave out the whole tool for NAME(PATTERN), but of
// the shell the commands that begin so. Where it is not understood which these are,
// more commands are denied, if need be all.
func Exclusions(entries []string, from func(entry string) Place) []policy.Rule {
	var out []policy.Rule
	for _, text := range entries {
		entry, place := tools.ParseEntry(text), from(text)
		if entry.Name == "" {
			continue
		}
		rule := policy.Rule{Name: cmp.Or(place.Rule, "excluded: "+strings.TrimSpace(text)), Tools: append(Names(entry), spoken(entry)...), Decision: policy.Deny, Priority: 400,
			Restricts: true, Tier: policy.TierUser, Source: place.Source, Line: place.Line}
		if entry.Shell() && !entry.Whole() {
			narrow := rule
			narrow.Tools = []string{shell.RunShellCommand}
			if narrow.CommandPrefix, _ = entry.Commands(); len(narrow.CommandPrefix) > 0 && narrow.Validate() == nil {
				out = append(out, narrow)
				continue
			}
		}
		rule.Name = cmp.Or(place.Rule, "excluded: "+entry.Name)
		out = append(out, rule)
	}
	return out
}

// Names are the names of the tools that an entry of a list is about: the one that
// is written, and the built-in tools that it stands for.
func Names(e tools.Entry) []string {
	if e.Shell() {
		return []string{shell.RunShellCommand}
	}
	names := []string{e.Name}
	if isBuiltIn(e.Name) {
		return names
	}
	return append(names, e.Foreign()...)
}

func isBuiltIn(name string) bool {
	_, builtIn := policy.WellKnown(name)
	return builtIn
}

// spoken are the built-in tools that the name of an excluded entry speaks of without
// being the name of one, as "Bash rm" does; nil: none.
func spoken(e tools.Entry) []string {
	if isBuiltIn(e.Name) || e.Foreign() != nil {
		return nil
	}
	if names := tools.ForeignNames(e.Name); names != nil { // as writefile
		return names
	}
	return tools.Named(e.Name, isBuiltIn)
}

// Restrictions are the rules that hold tools.core to what stands between brackets:
// of the shell, commands that do not begin so are denied. Every other entry with
// brackets selects nothing; see [tools.Selection].
func Restrictions(core []string, from func(entry string) Place) []policy.Rule {
	var only []string
	var place Place
	for _, text := range core {
		entry := tools.ParseEntry(text)
		if !entry.Shell() {
			continue
		}
		if entry.Whole() {
			return nil
		}
		if prefixes, err := entry.Commands(); err == nil {
			if only == nil {
				place = from(text)
			}
			only = append(only, prefixes...)
		}
	}
	if only == nil {
		return nil
	}
	return []policy.Rule{OnlyCommands(policy.Rule{Name: "core tools: run_shell_command(" + strings.Join(only, ",") + ")",
		Source: place.Source, Line: place.Line}, only)}
}

// OnlyCommands fills in a rule that denies all commands but those that begin so. If
// one of these is not understood, no command is left.
func OnlyCommands(rule policy.Rule, prefixes []string) policy.Rule {
	rule.Tools, rule.Decision, rule.Tier, rule.Priority = []string{shell.RunShellCommand}, policy.Deny, policy.TierUser, 999
	rule.CommandPrefix, rule.OtherCommands, rule.Restricts = prefixes, true, true
	if rule.Validate() != nil {
		rule.CommandPrefix, rule.OtherCommands = nil, false
	}
	return rule
}

// Allowed is the rule of an entry of the allowed tools.
func Allowed(entry string, place Place) (policy.Rule, bool, error) {
	return listedTool(entry, "allowed tools", place, policy.Rule{Decision: policy.Allow, Priority: 300})
}

// NamesNothing reports whether an entry that restricts has a name that no tool can
// have, and speaks of none: it cannot be told what it is meant to restrict.
func NamesNothing(e tools.Entry) bool {
	return e.Name != "" && spoken(e) == nil && tools.CheckName(strings.ReplaceAll(e.Name, "*", "x")) != nil
}

// Confirmed is the rule of an entry of the tools that are always asked about:
// beside what other rules say, so that what is denied stays denied.
func Confirmed(entry string, place Place) (policy.Rule, bool, error) {
	if NamesNothing(tools.ParseEntry(entry)) {
		return policy.Rule{}, false, fault.New(fault.InvalidConfig, "config.confirmationRequired",
			fmt.Sprintf("The entry %q of the tools that are asked about is not the name of a tool.", entry), "Name a tool, or for the shell beginnings of commands, as run_shell_command(git push).")
	}
	return listedTool(entry, "tools that are asked about", place, policy.Rule{Decision: policy.AskUser, Priority: 999, TightensOnly: true})
}

// listedTool fills in the rule of an entry `name` or, for the shell,
// `name(prefix, …)`. An entry without a name is none, and one with brackets that
// are not understood is a mistake, not the whole tool.
func listedTool(text, list string, place Place, rule policy.Rule) (policy.Rule, bool, error) {
	entry := tools.ParseEntry(text)
	if entry.Name == "" {
		return policy.Rule{}, false, nil
	}
	rule.Name, rule.Tools, rule.Tier = cmp.Or(place.Rule, text), Names(entry), policy.TierUser
	rule.Source, rule.Line = place.Source, place.Line
	var err error
	switch {
	case entry.Whole():
	case entry.Shell():
		rule.CommandPrefix, err = entry.Commands()
	default:
		err = errors.New("brackets go with run_shell_command alone")
	}
	if invalid := rule.Validate(); err == nil {
		err = invalid
	}
	if err != nil {
		from := ""
		if place.Source != "" {
			from = fmt.Sprintf(" (%s)", place)
		}
		return policy.Rule{}, false, fault.Wrap(fault.InvalidConfig, "config.allowedTools",
			fmt.Sprintf("The entry %q of the %s%s cannot be used: %s", text, list, from, fault.MessageOf(err)),
			"Name a tool, or for the shell beginnings of commands, as run_shell_command(git status).", err)
	}
	return rule, true, nil
}

// CheckExcluded reports that an entry of a list of excluded tools denies more
// than is written, since the commands between its brackets are not understood; nil:
// they are. The error is of code invalid_config.
func CheckExcluded(text string) error {
	entry := tools.ParseEntry(text)
	if names := spoken(entry); names != nil {
		return fault.New(fault.InvalidConfig, "config.excludedTools",
			fmt.Sprintf("The entry %q of the excluded tools is not the name of a tool. All of %s is excluded.", text, strings.Join(names, ", ")),
			"Write an entry for each tool, as run_shell_command(rm -rf).")
	}
	if entry.Whole() || !entry.Shell() {
		return nil
	}
	prefixes, err := entry.Commands()
	taken := "The whole tool is excluded."
	if len(prefixes) > 0 {
		taken = fmt.Sprintf("Commands that begin with %s are denied.", strings.Join(prefixes, ", "))
	}
	if err == nil {
		err = policy.Rule{Tools: []string{"run_shell_command"}, Decision: policy.Deny, Tier: policy.TierUser, CommandPrefix: prefixes}.Validate()
		taken = "The whole tool is excluded."
	}
	if err == nil {
		return nil
	}
	return fault.Wrap(fault.InvalidConfig, "config.excludedTools",
		fmt.Sprintf("The entry %q of the excluded tools is not understood: %s %s", text, fault.MessageOf(err), taken),
		"Write the beginning of a command, as run_shell_command(rm -rf).", err)
}

// StandIns are the rules that make up for files that cannot be read: each asks
// about every call that changes something, runs a program or reaches the
// network, and about every one of a server's tools, whatever allows it. What is
// denied stays denied.
func StandIns(unread []fault.Problem) []policy.Rule {
	var all []policy.Rule
	for _, file := range unread {
		rule := policy.Rule{Name: "in place of the file, which cannot be read", Tools: []string{"*"}, Decision: policy.AskUser, Priority: 999,
			TightensOnly: true, Tier: policy.TierUser, Source: file.Path, Line: file.Line}
		ofServers := rule
		ofServers.Server = "*"
		rule.Effects = []string{"write_files", "run_process", "network"}
		all = append(all, rule, ofServers)
	}
	return all
}
