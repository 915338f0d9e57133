package config

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/policy"
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

// CheckExcludedTool says of an entry of excludeTools of an extension that it is for
// the shell and names no command between its brackets, for which it has no effect;
// nil: it does not. The error is of code invalid_config.
func CheckExcludedTool(entry string) error {
	name, _, bracketed := strings.Cut(entry, "(")
	if known, _ := policy.WellKnown(strings.TrimSpace(name)); !bracketed || known.Tool != "run_shell_command" {
		return nil
	}
	_, _, err := listedTool(entry, "excludeTools", Place{}, policy.Rule{Decision: policy.Deny, Priority: 400})
	return err
}
