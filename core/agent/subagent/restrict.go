package subagent

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/internal/position"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/toollist"
)

// restricting are the keys that restrict an agent. An invalid value leaves the agent with fewer
// rights, or drops it.
var restricting = []string{"tools", "disallowed_tools", "permission_mode", "isolation"}

// foreignRestrictions are folded keys of other programs that restrict an agent in a way that fettle
// does not support.
var foreignRestrictions = []string{"hooks", "permission", "permissions", "sandbox", "readonly"} // also without a value

// entries parses a list of tools, or a comma-separated text. ok is false if part of it is invalid.
func (r *reading) entries(m *position.Member) (entries []toollist.Entry, ok bool) {
	var texts []string
	ok = true
	switch v := m.Value.(type) {
	case nil:
	case []position.Node:
		for _, item := range v {
			text, isText := item.Text()
			if !isText {
				r.warn(item.Line, "One of the tools is not a name, and is ignored.", "")
				ok = false
				continue
			}
			texts = append(texts, text)
		}
	default:
		text, isText := m.Text()
		texts, ok = splitTools(text), isText
	}
	for _, text := range texts {
		e := toollist.ParseEntry(text)
		if e.Name == "" {
			continue
		}
		if rest, foreign := strings.CutPrefix(e.Name, "mcp__"); foreign {
			server, tool, given := strings.Cut(rest, "__")
			if !given {
				tool = "*"
			}
			e.Name = mcpPrefix + server + "_" + tool
		}
		entries = append(entries, e)
	}
	return entries, ok
}

// tools parses the tools that the agent has. An entry of the shell with brackets allows the
// commands with that prefix; for any other tool such an entry allows nothing.
func (r *reading) tools(m *position.Member) {
	entries, _ := r.entries(m)
	switch m.Value.(type) {
	case nil:
		r.warn(m.Line, "The key tools is empty, so the agent has no tools.", "Remove the key to give it all tools, or write tools: [].")
	case *position.Table:
		r.warn(m.Line, "The value of tools is not a list of names, so the agent has no tools.", "Write tools: [NAME, NAME].")
	}
	r.d.Tools = []string{}
	whole := false
	for _, e := range entries {
		if e.Whole() {
			whole = whole || e.Shell() || e.Name == "*"
			r.d.Tools = append(r.d.Tools, e.Name)
			continue
		}
		if prefixes, err := e.Commands(); e.Shell() && err == nil {
			r.d.Tools, r.d.OnlyCommands = append(r.d.Tools, e.Name), append(r.d.OnlyCommands, prefixes...)
			continue
		}
		r.warn(m.Line, fmt.Sprintf("The restriction (%s) of the tool %s is not valid, so this entry does not give the agent the tool.", escape.Clip(escape.Line(e.Pattern), 60), escape.Clip(escape.Line(e.Name), 60)),
			"Remove the brackets, or for the shell write the beginning of a command, as run_shell_command(git status).")
	}
	if whole {
		r.d.OnlyCommands = nil
	}
}

// disallowedTools parses the tools that the agent does not have. An entry of the shell with
// brackets denies the commands with that prefix; for any other tool such an entry denies the whole
// tool.
func (r *reading) disallowedTools(m *position.Member) {
	entries, ok := r.entries(m)
	if !ok {
		r.drop(m.Line, "The value of "+m.Key+" is not a list of names, so the restrictions of the agent are unknown.", "Write "+m.Key+": [NAME, NAME].")
		return
	}
	for _, e := range entries {
		if e.Shell() && !e.Whole() {
			prefixes, err := e.Commands()
			r.d.DeniedCommands = append(r.d.DeniedCommands, prefixes...)
			if err == nil {
				continue
			}
			r.warn(m.Line, fmt.Sprintf("The entry %s(%s) is not valid: %v. More is denied than it states.", escape.Clip(escape.Line(e.Name), 60), escape.Clip(escape.Line(e.Pattern), 60), err), "")
			if len(prefixes) > 0 {
				continue
			}
		} else if !e.Whole() {
			r.warn(m.Line, fmt.Sprintf("The brackets of %s(%s) are not valid, so the agent does not have the tool at all.", escape.Clip(escape.Line(e.Name), 60), escape.Clip(escape.Line(e.Pattern), 60)), "")
		}
		r.d.DisallowedTools = append(r.d.DisallowedTools, e.Name)
	}
}

// permissionMode parses the approval mode of the agent, which applies unless its caller's is
// stricter. An agent with an unknown mode is dropped.
func (r *reading) permissionMode(m *position.Member) {
	text, _ := m.Text()
	name := folded(text)
	switch name {
	case "bypasspermissions", "yolo", "inherit":
		r.d.Mode = "" // the caller's: an agent never gets a more permissive one
		return
	case "acceptedits":
		name = folded(string(policy.ModeAutoEdit))
	}
	var names []string
	for _, mode := range policy.Modes() {
		if folded(string(mode)) == name {
			r.d.Mode = string(mode)
			if mode == policy.ModePlan {
				r.d.DisallowedTools = append(r.d.DisallowedTools, "exit_plan_mode", "enter_plan_mode")
			}
			return
		}
		if mode != policy.ModeYolo {
			names = append(names, string(mode))
		}
	}
	r.drop(m.Line, fmt.Sprintf("The value %s of %s is not known, so the permissions of the agent are unknown.", quoted(text), m.Key),
		"Use one of "+strings.Join(names, ", ")+".")
}

// isolation parses where the agent works. An agent with an unknown value is dropped.
func (r *reading) isolation(m *position.Member) {
	text, _ := m.Text()
	switch folded(text) {
	case "none":
	case "fork":
		r.d.Fork = true
	case "worktree":
		r.d.Fork = true
		r.note(m.Line, "The isolation worktree means fork: the agent works on a fork of the project, which is merged.")
	default:
		r.drop(m.Line, fmt.Sprintf("The value %s of %s is not known, so the isolation of the agent is unknown.", quoted(text), m.Key), "Use one of fork, none.")
	}
}

// Select returns the available tools that the agent has, in their order, and the entries of Tools
// that match none; see [Select].
func (d *Definition) Select(available []tools.DeclarativeTool) (chosen []tools.DeclarativeTool, unknown []string) {
	chosen, unknown = Select(d.Tools, available)
	without := make([]bool, len(chosen))
	for _, entry := range d.DisallowedTools {
		pick(entry, chosen, without)
		pickWhere(chosen, without, func(s tools.Spec) bool { return folded(s.Name) == folded(entry) })
	}
	var kept []tools.DeclarativeTool
	for i, t := range chosen {
		if !without[i] {
			kept = append(kept, t)
		}
	}
	return kept, unknown
}

// Within returns the available tools that every one of the outer agents has, in their order.
func Within(outer []*Definition, available []tools.DeclarativeTool) []tools.DeclarativeTool {
	for _, d := range outer {
		available, _ = d.Select(available)
	}
	return available
}
