// Package toolrules converts lists of tools, and files that cannot be read, into
// policy rules.
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
	"github.com/fettle-dev/fettle/core/tools/toollist"
)

// Place is the position of an entry of a list.
type Place struct {
	Source string // for example the path of a file
	Line   int    // 1-based; 0: the source as a whole
	Rule   string // name of the rule for the entry; "": derived from the entry
}

// String returns SOURCE:LINE, or SOURCE without a line.
func (p Place) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d", p.Source, p.Line)
	}
	return p.Source
}

// Listed returns the rules of the entries of a list, by [Allowed] or [Confirmed].
// from returns the position of an entry.
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

// Exclusions returns the rules that deny tools, with the positions of entries if
// known. Like the registry they exclude the whole tool for NAME(PATTERN), except
// that an entry of the shell excludes the commands with that prefix. If the
// prefix cannot be parsed, more commands are denied, if necessary all.
func Exclusions(entries []string, from func(entry string) Place) []policy.Rule {
	var out []policy.Rule
	for _, text := range entries {
		entry, place := toollist.ParseEntry(text), from(text)
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

// Names returns the names of the tools that an entry of a list refers to: the
// written one, and the built-in tools that it denotes.
func Names(e toollist.Entry) []string {
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

// spoken returns the built-in tools that the name of an excluded entry refers to
// without being the name of one, for example "Bash rm"; nil: none.
func spoken(e toollist.Entry) []string {
	if isBuiltIn(e.Name) || e.Foreign() != nil {
		return nil
	}
	if names := toollist.ForeignNames(e.Name); names != nil { // for example writefile
		return names
	}
	return toollist.Named(e.Name, isBuiltIn)
}

// Restrictions returns the rules that restrict tools.core to the patterns in
// brackets: shell commands without one of the prefixes are denied. Every other
// entry with brackets selects nothing; see [toollist.Selection].
func Restrictions(core []string, from func(entry string) Place) []policy.Rule {
	var only []string
	var place Place
	for _, text := range core {
		entry := toollist.ParseEntry(text)
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

// OnlyCommands completes a rule that denies all commands without one of the
// prefixes. If a prefix cannot be parsed, all commands are denied.
func OnlyCommands(rule policy.Rule, prefixes []string) policy.Rule {
	rule.Tools, rule.Decision, rule.Tier, rule.Priority = []string{shell.RunShellCommand}, policy.Deny, policy.TierUser, 999
	rule.CommandPrefix, rule.OtherCommands, rule.Restricts = prefixes, true, true
	if rule.Validate() != nil {
		rule.CommandPrefix, rule.OtherCommands = nil, false
	}
	return rule
}

// Allowed returns the rule of an entry of the allowed tools.
func Allowed(entry string, place Place) (policy.Rule, bool, error) {
	return listedTool(entry, "allowed tools", place, policy.Rule{Decision: policy.Allow, Priority: 300})
}

// NamesNothing reports whether a restricting entry has a name that no tool can
// have, and refers to none: its intent is unknown.
func NamesNothing(e toollist.Entry) bool {
	return e.Name != "" && spoken(e) == nil && tools.CheckName(strings.ReplaceAll(e.Name, "*", "x")) != nil
}

// Confirmed returns the rule of an entry of the tools that always require
// approval. It applies in addition to other rules, so that denied calls stay
// denied.
func Confirmed(entry string, place Place) (policy.Rule, bool, error) {
	if NamesNothing(toollist.ParseEntry(entry)) {
		return policy.Rule{}, false, fault.New(fault.InvalidConfig, "config.confirmationRequired",
			fmt.Sprintf("The entry %q of the tools that require approval is not the name of a tool.", entry), "Name a tool, or for the shell beginnings of commands, as in run_shell_command(git push).")
	}
	return listedTool(entry, "tools that require approval", place, policy.Rule{Decision: policy.AskUser, Priority: 999, TightensOnly: true})
}

// listedTool completes the rule of an entry `name` or, for the shell,
// `name(prefix, …)`. An entry without a name is ignored, and one with invalid
// brackets is an error and does not denote the whole tool.
func listedTool(text, list string, place Place, rule policy.Rule) (policy.Rule, bool, error) {
	entry := toollist.ParseEntry(text)
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
		err = errors.New("only run_shell_command may have brackets")
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
			"Name a tool, or for the shell beginnings of commands, as in run_shell_command(git status).", err)
	}
	return rule, true, nil
}

// CheckExcluded reports that an entry of a list of excluded tools denies more
// than written, because the commands in its brackets cannot be parsed. It returns
// nil for other entries. The error has code invalid_config.
func CheckExcluded(text string) error {
	entry := toollist.ParseEntry(text)
	if names := spoken(entry); names != nil {
		return fault.New(fault.InvalidConfig, "config.excludedTools",
			fmt.Sprintf("The entry %q of the excluded tools is not the name of a tool. All of %s is excluded.", text, strings.Join(names, ", ")),
			"Write an entry for each tool, as in run_shell_command(rm -rf).")
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
		fmt.Sprintf("The entry %q of the excluded tools is invalid: %s %s", text, fault.MessageOf(err), taken),
		"Use the beginning of a command, as in run_shell_command(rm -rf).", err)
}

// StandIns returns the rules that replace files that cannot be read: each
// requires approval of every call that changes something, runs a program or
// reaches the network, and of every server tool, whatever allows it. Denied calls
// stay denied.
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
