package subagent

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/toollist"
)

// anyAgent is the list entry for every agent that may be called.
const anyAgent = "invoke_agent"

// Select returns the available tools that a definition's list names, in their order, and the
// entries that match none. An entry is one of
//
//   - a tool's name or alias, or a name that governs it, as edit governs safe_patch;
//   - "*" for every tool, "mcp_*" for those of all MCP servers, "mcp_SERVER_*"
//     for those of one, and "invoke_agent" for the tools that are agents;
//   - another program's name for such a tool, such as Bash or Read, or a tool's
//     name with other capitals, hyphens or underscores, such as Glob or WriteFile.
//
// A nil list names every tool.
func Select(entries []string, available []tools.DeclarativeTool) (chosen []tools.DeclarativeTool, unknown []string) {
	if entries == nil {
		return slices.Clone(available), nil
	}
	picked := make([]bool, len(available))
	for _, entry := range entries {
		if !pick(entry, available, picked) && !wildcard(entry) {
			unknown = append(unknown, entry)
		}
	}
	for i, t := range available {
		if picked[i] {
			chosen = append(chosen, t)
		}
	}
	return chosen, unknown
}

// wildcard reports whether an entry may match nothing without a problem: servers come and go,
// agents are not always callable, and complete_task is always available.
func wildcard(entry string) bool {
	names := toollist.ForeignNames(entry)
	return entry == "*" || entry == anyAgent || entry == completeTask || strings.HasPrefix(entry, "mcp_") || slices.Contains(names, anyAgent)
}

// pick marks the tools that an entry matches, and reports whether there are any.
func pick(entry string, available []tools.DeclarativeTool, picked []bool) bool {
	if pickWhere(available, picked, func(s tools.Spec) bool { return s.Name == entry || slices.Contains(s.Aliases, entry) }) {
		return true
	}
	if entry == anyAgent {
		found := false
		for i, t := range available {
			if _, ok := t.(AgentTool); ok {
				picked[i], found = true, true
			}
		}
		return found
	}
	if pickWhere(available, picked, func(s tools.Spec) bool { return matches(entry, s) || slices.Contains(s.GovernedBy, entry) }) {
		return true
	}
	found := false
	for _, name := range toollist.ForeignNames(entry) {
		if name != entry && pick(name, available, picked) {
			found = true
		}
	}
	if found || entry == "" {
		return found
	}
	return pickWhere(available, picked, func(s tools.Spec) bool { return s.Origin.Server == "" && folded(s.Name) == folded(entry) })
}

func pickWhere(available []tools.DeclarativeTool, picked []bool, is func(tools.Spec) bool) bool {
	found := false
	for i, t := range available {
		if is(t.Spec()) {
			picked[i], found = true, true
		}
	}
	return found
}

// matches reports whether an entry is a wildcard that matches the tool.
func matches(entry string, s tools.Spec) bool {
	if entry == "*" {
		return true
	}
	if s.Origin.Server == "" || !strings.HasPrefix(entry, "mcp_") {
		return false
	}
	server, tool := s.Origin.Server, s.ServerTool()
	return entry == "mcp_*" || entry == "mcp_"+server+"_*" || entry == "mcp_*_"+tool ||
		entry == "mcp_"+server+"_"+tool || entry == tools.QualifiedName(server, tool)
}

// RemoteAgents creates the tools of remote agents. *a2a.Service implements it.
type RemoteAgents interface {
	// Tool creates the tool of one Config. conversation returns the ID of the
	// conversation that a call belongs to; the agent does not remember other
	// conversations. nil: there is only one conversation.
	Tool(d Definition, conversation func() string) (AgentTool, error)
	Close() error
}

// AgentTool is a tool that is an agent, local or remote.
type AgentTool interface {
	tools.DeclarativeTool
	// Agent returns the agent's definition, which must not be changed.
	Agent() *Definition
}

// splitTools splits a text at the commas outside of brackets.
func splitTools(text string) []string {
	var entries []string
	depth, from := 0, 0
	for i, c := range text {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth <= 0 {
				entries, from = append(entries, text[from:i]), i+1
			}
		}
	}
	return append(entries, text[from:])
}
