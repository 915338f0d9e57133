package subagent

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/internal/position"
	"github.com/fettle-dev/fettle/core/tools"
)

// restricting are the keys that restrict an agent: one whose value is not understood
// leaves the agent less, or none of it.
var restricting = []string{"tools", "disallowed_tools", "permission_mode"}

// foreignRestrictions are keys of other programs, folded, that restrict an agent in
// a way that does not exist here.
var foreignRestrictions = []string{"hooks", "permission", "permissions", "sandbox", "isolation", "readonly"}

// entries reads a list of tools, or texts parted by commas. ok is false if part of
// it cannot be read.
func (r *reading) entries(m *position.Member) (entries []tools.Entry, ok bool) {
	var texts []string
	ok = true
	switch v := m.Value.(type) {
	case nil:
	case []position.Node:
		for _, item := range v {
			text, isText := item.Text()
			if !isText {
				r.warn(item.Line, "One of the tools is no name, and is left out.", "")
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
		e := tools.ParseEntry(text)
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

// tools reads the tools that the agent has. Of the shell an entry with brackets
// gives the commands that begin so; another one gives nothing.
func (r *reading) tools(m *position.Member) {
	entries, _ := r.entries(m)
	switch m.Value.(type) {
	case nil:
		r.warn(m.Line, "The key tools names no tool, so that the agent has none.", "Leave the key out to give it all, or write tools: [].")
	case *position.Table:
		r.warn(m.Line, "The value of tools is no list of names, so that the agent has no tools.", "Write tools: [NAME, NAME].")
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
		r.warn(m.Line, fmt.Sprintf("The restriction (%s) of the tool %s is not understood, so that the agent does not have the tool by it.", escape.Clip(escape.Line(e.Pattern), 60), escape.Clip(escape.Line(e.Name), 60)),
			"Leave the brackets out, or for the shell write the beginning of a command, as run_shell_command(git status).")
	}
	if whole {
		r.d.OnlyCommands = nil
	}
}

// disallowedTools reads the tools that the agent does not have. Of the shell an
// entry with brackets is about the commands that begin so; any other one is about
// the whole tool.
func (r *reading) disallowedTools(m *position.Member) {
	entries, ok := r.entries(m)
	if !ok {
		r.lost(m.Line, "The value of "+m.Key+" is no list of names, so that it is not known what the agent may not do.", "Write "+m.Key+": [NAME, NAME].")
		return
	}
	for _, e := range entries {
		if e.Shell() && !e.Whole() {
			prefixes, err := e.Commands()
			r.d.DeniedCommands = append(r.d.DeniedCommands, prefixes...)
			if err == nil {
				continue
			}
			r.warn(m.Line, fmt.Sprintf("The entry %s(%s) is not understood: %v. More is denied than is written.", escape.Clip(escape.Line(e.Name), 60), escape.Clip(escape.Line(e.Pattern), 60), err), "")
			if len(prefixes) > 0 {
				continue
			}
		} else if !e.Whole() {
			r.warn(m.Line, fmt.Sprintf("The brackets of %s(%s) are not understood, so that the agent does not have the tool at all.", escape.Clip(escape.Line(e.Name), 60), escape.Clip(escape.Line(e.Pattern), 60)), "")
		}
		r.d.DisallowedTools = append(r.d.DisallowedTools, e.Name)
	}
}

// permissionMode reads the mode that the agent works in where its caller's is not
// stricter. An agent whose mode is not known is lost.
func (r *reading) permissionMode(m *position.Member) {
	text, _ := m.Text()
	switch folded(text) {
	case "plan":
		r.d.Mode = "plan"
		r.d.DisallowedTools = append(r.d.DisallowedTools, "exit_plan_mode", "enter_plan_mode")
	case "default":
		r.d.Mode = "default"
	case "acceptedits", "autoedit":
		r.d.Mode = "autoEdit"
	case "bypasspermissions", "yolo", "inherit":
		r.d.Mode = "" // the caller's: an agent has no more than that
	default:
		r.lost(m.Line, fmt.Sprintf("The value %s of %s is not known, so that it is not known what the agent may do.", quoted(text), m.Key),
			"Use one of plan, default, autoEdit.")
	}
}

// Select returns the available tools that the agent has, in their order, and the
// entries of Tools that name none of them; see [Select].
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

// Within returns those of the available tools that each of the outer agents has, in
// their order.
func Within(outer []*Definition, available []tools.DeclarativeTool) []tools.DeclarativeTool {
	for _, d := range outer {
		available, _ = d.Select(available)
	}
	return available
}
