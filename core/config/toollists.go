package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/shell"
)

// rulesOfParameters are the rules that come from lists of tools and from the
// embedder.
func (c *Config) rulesOfParameters() ([]policy.Rule, error) {
	out := slices.Clone(c.params().Rules)
	for _, entry := range c.params().AllowedTools {
		rule, ok, err := allowedTool(entry, placeOf(entry, c.params().AllowedFrom, "--allowed-tools"))
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, rule)
		}
	}
	for _, entry := range c.params().ConfirmationRequired {
		rule, ok, err := confirmedTool(entry, placeOf(entry, c.params().ConfirmationFrom, "ConfirmationRequired"))
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, rule)
		}
	}
	out = append(out, c.params().serverRules()...)
	out = append(out, standIns(c.params().unread)...)
	out = append(out, restrictions(c.params().CoreTools, c.params().CoreFrom)...)
	return append(out, exclusions(c.params().ExcludeTools, c.params().ExcludedFrom)...), nil
}

// exclusions are the rules that deny tools, with the places of those that are
// known. Like the registry they leave out the whole tool for NAME(PATTERN), but of
// the shell the commands that begin so. Where it is not understood which these are,
// more commands are denied, if need be all.
func exclusions(entries []string, from map[string]Place) []policy.Rule {
	var out []policy.Rule
	for _, text := range entries {
		entry, place := tools.ParseEntry(text), placeOf(text, from, "--exclude-tools")
		if entry.Name == "" {
			continue
		}
		rule := policy.Rule{Name: cmp.Or(place.Rule, "excluded: "+strings.TrimSpace(text)), Tools: append(namesOf(entry), spoken(entry)...), Decision: policy.Deny, Priority: 400,
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

// namesOf are the names of the tools that an entry of a list is about: the one that
// is written, and the built-in tools that it stands for.
func namesOf(e tools.Entry) []string {
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

// restrictions are the rules that hold tools.core to what stands between brackets:
// of the shell, commands that do not begin so are denied. Every other entry with
// brackets selects nothing; see [tools.Selection].
func restrictions(core []string, from map[string]Place) []policy.Rule {
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
				place = placeOf(text, from, "--core-tools")
			}
			only = append(only, prefixes...)
		}
	}
	if only == nil {
		return nil
	}
	return []policy.Rule{onlyCommands(policy.Rule{Name: "core tools: run_shell_command(" + strings.Join(only, ",") + ")",
		Source: place.Source, Line: place.Line}, only)}
}

// onlyCommands fills in a rule that denies all commands but those that begin so. If
// one of these is not understood, no command is left.
func onlyCommands(rule policy.Rule, prefixes []string) policy.Rule {
	rule.Tools, rule.Decision, rule.Tier, rule.Priority = []string{shell.RunShellCommand}, policy.Deny, policy.TierUser, 999
	rule.CommandPrefix, rule.OtherCommands, rule.Restricts = prefixes, true, true
	if rule.Validate() != nil {
		rule.CommandPrefix, rule.OtherCommands = nil, false
	}
	return rule
}

// placeOf returns where an entry of a list was given.
func placeOf(entry string, from map[string]Place, flag string) Place {
	if place, ok := from[entry]; ok {
		return place
	}
	return Place{Source: flag}
}

// allowedTool is the rule of an entry of the allowed tools.
func allowedTool(entry string, place Place) (policy.Rule, bool, error) {
	return listedTool(entry, "allowed tools", place, policy.Rule{Decision: policy.Allow, Priority: 300})
}

// namesNothing reports whether an entry that restricts has a name that no tool can
// have, and speaks of none: it cannot be told what it is meant to restrict.
func namesNothing(e tools.Entry) bool {
	return e.Name != "" && spoken(e) == nil && tools.CheckName(strings.ReplaceAll(e.Name, "*", "x")) != nil
}

// confirmedTool is the rule of an entry of the tools that are always asked about:
// beside what other rules say, so that what is denied stays denied.
func confirmedTool(entry string, place Place) (policy.Rule, bool, error) {
	if namesNothing(tools.ParseEntry(entry)) {
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
	rule.Name, rule.Tools, rule.Tier = cmp.Or(place.Rule, text), namesOf(entry), policy.TierUser
	rule.Source, rule.Line = place.Source, place.Line
	var err error
	switch {
	case entry.Whole():
	case entry.Shell():
		rule.CommandPrefix, err = entry.Commands()
	default:
		err = fmt.Errorf("brackets go with run_shell_command alone")
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
			fmt.Sprintf("The entry %q of the %s%s cannot be used: %s", text, list, from, message(err)),
			"Name a tool, or for the shell beginnings of commands, as run_shell_command(git status).", err)
	}
	return rule, true, nil
}

func message(err error) string {
	if f := fault.As(err); f != nil {
		return f.Message
	}
	return err.Error() + "."
}
