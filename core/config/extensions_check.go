package config

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
	"github.com/fettle-dev/fettle/core/tools"
)

// hooksOf are the hooks of an extension as a session reads them, with nothing filled
// in, so that they are the same wherever it lies.
func hooksOf(e extensions.Extension) []extensions.HookPart {
	data, err := e.UnfilledHooks()
	if err != nil || data == nil {
		return nil // what cannot be read runs nowhere
	}
	found, _ := hooks.ParseJSON(data, hooks.Origin{Source: hooks.SourceExtension, Path: e.HooksFile, Extension: e.Name})
	var all []extensions.HookPart
	for _, h := range found {
		part := extensions.HookPart{Event: string(h.Event), Matcher: h.Matcher, Command: h.Command}
		for name, value := range h.Env {
			part.Env, part.Given = append(part.Env, name), append(part.Given, name+"="+value)
		}
		slices.Sort(part.Env)
		slices.Sort(part.Given)
		all = append(all, part)
	}
	return all
}

// CheckExtensionRules finds what is wrong with the rules of an extension, as
// sessions read them. Paths are absolute.
func CheckExtensionRules(ctx context.Context, e extensions.Extension) []fault.Problem {
	if e.PoliciesDir == "" {
		return nil
	}
	_, problems, _ := ExtensionRules(ctx, e.PoliciesDir, e.Name)
	var all []fault.Problem
	for _, p := range problems {
		f := fault.Problem{Severity: fault.SeverityWarning, Path: p.Path, Line: p.Line, Message: p.Message, Remedy: p.Remedy}
		if p.Key != "" {
			f.Message = p.Key + ": " + f.Message
		}
		if p.Severity == rulefile.Error {
			f.Severity = fault.SeverityError
		}
		all = append(all, f)
	}
	return all
}

// CheckExcludedTool reports that an entry of a list of excluded tools denies more
// than is written, since the commands between its brackets are not understood; nil:
// they are. The error is of code invalid_config.
func CheckExcludedTool(text string) error {
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
		fmt.Sprintf("The entry %q of the excluded tools is not understood: %s %s", text, message(err), taken),
		"Write the beginning of a command, as run_shell_command(rm -rf).", err)
}
