package tools

import "slices"

// Selection says which tools a session has (AR-09). An entry of either list
// is a tool's name or alias, alone or as "name(pattern)", or the name that another
// program gives to it; see [Entry]. Policy applies a pattern of the shell; a tool
// that is selected with another pattern is not included. The zero Selection takes the
// default set.
type Selection struct {
	Core    []string // the built-ins to have, exactly; nil: the default set; empty: none. Does not concern other tools
	Exclude []string // tools not to have, whoever brought them; wins over Core
}

// Includes reports whether a tool is selected; inDefaultSet says whether a
// built-in belongs to the default set.
//
// A tool of an MCP server is excluded by the name that it is registered under, by
// its qualified name, whether or not that is so, and by its own name there.
//
// An exclusion with a pattern takes the whole tool away: a part of a tool
// cannot be left out of a registry, and what is to be excluded must not run. Of
// the shell it is commands that begin so, which policy denies, and the tool
// stays.
func (s Selection) Includes(spec Spec, inDefaultSet bool) bool {
	whole := slices.DeleteFunc(slices.Clone(s.Exclude), func(entry string) bool { return deniedByPolicy(ParseEntry(entry)) })
	if lists(whole, spec, true) {
		return false
	}
	if spec.Origin.Group != GroupBuiltIn {
		return true
	}
	if s.Core == nil {
		return inDefaultSet
	}
	return lists(slices.DeleteFunc(slices.Clone(s.Core), func(entry string) bool { return !understood(ParseEntry(entry)) }), spec, false)
}

// understood reports whether an entry that selects a tool restricts it in a way that
// policy applies.
func understood(e Entry) bool {
	if e.Whole() {
		return true
	}
	_, err := e.Commands()
	return e.Shell() && err == nil
}

// deniedByPolicy reports whether an exclusion is about some commands of the shell,
// which policy denies.
func deniedByPolicy(e Entry) bool {
	if e.Whole() || !e.Shell() {
		return false
	}
	prefixes, _ := e.Commands()
	return len(prefixes) > 0
}

// lists reports whether an entry names the tool, or where governed is set,
// one that governs it.
func lists(entries []string, spec Spec, governed bool) bool {
	for _, e := range entries {
		entry := ParseEntry(e)
		name := entry.Name
		if name == "" {
			continue
		}
		if name == spec.Name || slices.Contains(spec.Aliases, name) || spec.Origin.Group == GroupBuiltIn && slices.Contains(entry.Foreign(), spec.Name) {
			return true
		}
		if governed && slices.Contains(spec.GovernedBy, name) {
			return true
		}
		if server, tool := spec.Origin.Server, spec.ServerTool(); server != "" &&
			(name == tool || name == mcpPrefix+server+"_"+tool || name == QualifiedName(server, tool)) {
			return true
		}
	}
	return false
}
