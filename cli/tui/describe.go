package tui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/markdown"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/escape"
)

// How much of the arguments of a call is shown.
const (
	maxArgumentLine  = 600 // bytes
	maxArgumentLines = 400
)

// describe is what a person has to know to decide: what would be done, and why it is
// asked.
func describe(q bus.ToolConfirmationRequest, v look) []string {
	c := q.Details
	var lines []string
	if c.SystemMessage != "" {
		lines = append(lines, folded("note: "+c.SystemMessage, v.columns)...)
	}
	switch {
	case c.EditDetails != nil:
		lines = append(lines, describeEdit(c.EditDetails, q.Modified, v)...)
	case c.ExecDetails != nil:
		lines = append(lines, describeCommand(q, v)...)
	case c.MCPDetails != nil:
		lines = append(lines, describeServerTool(q, v)...)
	case c.InfoDetails != nil:
		lines = append(lines, split(strings.Trim(markdown.Render(c.Prompt, v.columns, *v.theme), "\n"))...)
		for _, u := range c.URLs {
			lines = append(lines, display.Break("  "+display.Line(u), v.columns)...)
		}
	}
	for _, path := range c.Paths {
		if c.EditDetails == nil || path != c.FilePath {
			lines = append(lines, display.Break("changes "+display.Line(path), v.columns)...)
		}
	}
	for _, line := range folded("why: "+approval.Why(q), v.columns) {
		lines = append(lines, v.theme.Dim.Render(line))
	}
	return lines
}

// describeEdit shows a change of one file.
func describeEdit(e *bus.EditDetails, modified bool, v look) []string {
	diff, added, removed := display.NumberedDiff(e.FileDiff, v.columns, *v.theme)
	path := display.Line(e.FilePath)
	if e.OriginalContent == nil {
		path = "new file: " + path
	}
	lines := display.Break(path, v.columns)
	last := lines[len(lines)-1] + "  " + stat(added, removed, v)
	if display.Width(last) > v.columns {
		lines = append(lines, stat(added, removed, v))
	} else {
		lines[len(lines)-1] = last
	}
	if s := e.DiffStat; modified && s != nil {
		text := fmt.Sprintf("with your changes: +%d −%d, to the proposal's +%d −%d", s.UserAddedLines, s.UserRemovedLines, s.ModelAddedLines, s.ModelRemovedLines)
		lines = append(lines, folded(text, v.columns)...)
	}
	return append(lines, split(diff)...)
}

// describeCommand shows a command line as it stands but indented, so that nothing in it
// can look like a line of this program's, and the verdict on each of its parts.
func describeCommand(q bus.ToolConfirmationRequest, v look) []string {
	var lines []string
	for _, line := range split(display.Untab(display.Printable(plainEnds(q.Details.Command)), 0)) {
		for _, piece := range hung("  "+line, v.columns) {
			lines = append(lines, v.theme.Code.Render(piece))
		}
	}
	lines = append(lines, describeOthers(q.ToolCall.Args, v)...)
	for _, part := range approval.Parts(q) {
		word := fmt.Sprintf("%-7s", approval.Verdict(part.Decision))
		text := "  " + word + "  " + display.Line(part.Text)
		if why := approval.WhyPart(part); why != "" {
			text += "  " + why
		}
		pieces := split(display.Fold(text, "         ", v.columns))
		for i, piece := range pieces {
			if i == 0 {
				piece = strings.Replace(piece, word, verdictStyle(part.Decision, v).Render(word), 1)
			}
			lines = append(lines, display.Cut(piece, v.columns, "…"))
		}
	}
	return lines
}

func verdictStyle(decision string, v look) theme.Style {
	switch decision {
	case "allow":
		return v.theme.Success
	case "deny":
		return v.theme.Error
	}
	return v.theme.Warning
}

// describeOthers lists the arguments of a command beside the command.
func describeOthers(args json.RawMessage, v look) []string {
	var values map[string]json.RawMessage
	if json.Unmarshal(args, &values) != nil {
		return nil
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if name == "command" {
			continue
		}
		var text string
		if json.Unmarshal(values[name], &text) != nil {
			text = string(values[name])
		}
		for _, line := range folded("  "+display.Line(name)+": "+display.Line(text), v.columns) {
			lines = append(lines, v.theme.Dim.Render(line))
		}
	}
	return lines
}

// describeServerTool shows a call of a server's tool: whose it is, and what it is
// called with.
func describeServerTool(q bus.ToolConfirmationRequest, v look) []string {
	c := q.Details.MCPDetails
	head := "tool " + quoted(c.ToolName)
	if c.ToolDisplayName != "" && c.ToolDisplayName != c.ToolName {
		head += " (" + quoted(c.ToolDisplayName) + ")"
	}
	lines := folded(head+" of server "+quoted(c.ServerName), v.columns)
	args := q.ToolCall.Args // what would be executed
	if len(args) == 0 {
		args = c.ToolArgs
	}
	return append(lines, describeArguments(args, v)...)
}

// quoted is a name; one that could be read for more than a name is quoted.
func quoted(name string) string {
	name = display.Cut(display.Line(name), 100, "…")
	if strings.ContainsAny(name, " ()\"") {
		return fmt.Sprintf("%q", name)
	}
	return name
}

// describeArguments shows arguments as indented JSON: of long lines both ends, and of
// many lines the first and the last.
func describeArguments(args json.RawMessage, v look) []string {
	var indented bytes.Buffer
	if len(args) == 0 || json.Indent(&indented, args, "  ", "  ") != nil {
		return nil
	}
	all := strings.Split("  "+indented.String(), "\n")
	first, last := len(all), len(all)
	if len(all) > maxArgumentLines {
		first, last = maxArgumentLines*3/4, len(all)-maxArgumentLines/4
	}
	var lines []string
	for i, line := range all {
		switch {
		case i == first:
			lines = append(lines, v.theme.Warning.Render(fmt.Sprintf("  … %s lines are not shown …", thousands(last-first))))
		case i < first || i >= last:
			lines = append(lines, hung(display.Printable(middleCut(line)), v.columns)...)
		}
	}
	return lines
}

// hung breaks a line; its pieces but the first are indented by more than it is, so that
// none can look like a line of its own.
func hung(line string, columns int) []string {
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))] + "    "
	if len(indent) > columns/2 {
		indent = "    "
	}
	pieces := display.Break(line, columns)
	if len(pieces) == 1 {
		return pieces
	}
	out := pieces[:1]
	for _, piece := range display.Break(line[len(pieces[0]):], max(columns-len(indent), 1)) {
		out = append(out, indent+piece)
	}
	return out
}

// middleCut cuts the middle out of a long line.
func middleCut(line string) string {
	head, tail, omitted := escape.Ends(line, maxArgumentLine*3/4, maxArgumentLine/4)
	if omitted == 0 {
		return line
	}
	return fmt.Sprintf("%s … %s bytes are not shown … %s", head, thousands(omitted), tail)
}
