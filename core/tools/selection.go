package tools

import (
	"slices"
	"strings"
)

// Selection says which tools a session has (AR-09). An entry of either list
// is a tool's name or alias, alone or as "name(pattern)". What the pattern
// narrows is policy's business; see Includes. The zero Selection takes the
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
	whole := slices.DeleteFunc(slices.Clone(s.Exclude), func(entry string) bool { return commandsOf(entry) != "" })
	if lists(whole, spec, true) {
		return false
	}
	if spec.Origin.Group != GroupBuiltIn {
		return true
	}
	if s.Core == nil {
		return inDefaultSet
	}
	return lists(s.Core, spec, false)
}

// commandsOf returns the beginnings of commands between the brackets of an entry
// that is about the shell, "" for any other.
func commandsOf(entry string) string {
	name, commands, _ := strings.Cut(entry, "(")
	if name = strings.TrimSpace(name); name != "run_shell_command" && name != "ShellTool" {
		return ""
	}
	return strings.Trim(commands, "), \t")
}

// lists reports whether an entry names the tool, or where governed is set,
// one that governs it.
func lists(entries []string, spec Spec, governed bool) bool {
	for _, e := range entries {
		name, _, _ := strings.Cut(e, "(")
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		if name == spec.Name || slices.Contains(spec.Aliases, name) {
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
