package toollist

import (
	"slices"

	"github.com/fettle-dev/fettle/core/tools"
)

// Selection is the set of tools of a session. An entry of either list is a tool's name or alias, alone or as
// "name(pattern)", or a tool name of another program; see [Entry]. Policy applies a pattern of the shell; an entry with
// any other pattern does not include its tool. The zero Selection selects the default set.
type Selection struct {
	Core    []string // the built-in tools, exactly; nil: the default set; empty: none. Does not affect other tools
	Exclude []string // excluded tools of any origin; takes precedence over Core
}

// Includes reports whether a tool is selected; inDefaultSet is whether a built-in belongs to the default set.
//
// A tool of an MCP server is excluded by its registered name, by its qualified name, even if it has another, and by its
// name at the server.
//
// An exclusion with a pattern excludes the whole tool, because a registry cannot exclude part of a tool. For the shell
// the pattern is a command prefix: policy denies such commands, and the tool stays.
func (s Selection) Includes(spec tools.Spec, inDefaultSet bool) bool {
	whole := slices.DeleteFunc(slices.Clone(s.Exclude), func(entry string) bool { return deniedByPolicy(ParseEntry(entry)) })
	if lists(whole, spec, true) {
		return false
	}
	if spec.Origin.Group != tools.GroupBuiltIn {
		return true
	}
	if s.Core == nil {
		return inDefaultSet
	}
	return lists(slices.DeleteFunc(slices.Clone(s.Core), func(entry string) bool { return !understood(ParseEntry(entry)) }), spec, false)
}

// understood reports whether an entry restricts a selected tool in a way that policy can apply.
func understood(e Entry) bool {
	if e.Whole() {
		return true
	}
	_, err := e.Commands()
	return e.Shell() && err == nil
}

// deniedByPolicy reports whether an exclusion applies to some shell commands, which policy denies.
func deniedByPolicy(e Entry) bool {
	if e.Whole() || !e.Shell() {
		return false
	}
	prefixes, _ := e.Commands()
	return len(prefixes) > 0
}

// lists reports whether an entry names the tool or, if governed is set, a tool that governs it.
func lists(entries []string, spec tools.Spec, governed bool) bool {
	for _, e := range entries {
		entry := ParseEntry(e)
		name := entry.Name
		if name == "" {
			continue
		}
		if name == spec.Name || slices.Contains(spec.Aliases, name) || spec.Origin.Group == tools.GroupBuiltIn && slices.Contains(entry.Foreign(), spec.Name) {
			return true
		}
		governs := func(name string) bool { return slices.Contains(spec.GovernedBy, name) }
		if governed && (governs(name) || spec.Origin.Group == tools.GroupBuiltIn && slices.ContainsFunc(entry.Foreign(), governs)) {
			return true
		}
		if server, tool := spec.Origin.Server, spec.ServerTool(); server != "" &&
			(name == tool || name == "mcp_"+server+"_"+tool || name == tools.QualifiedName(server, tool)) {
			return true
		}
	}
	return false
}
