package dialogs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/diffview"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/core/bus"
	details "github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/escape"
)

// Limits on the displayed arguments of a call.
const (
	maxArgumentLine  = 600 // bytes
	maxArgumentLines = 400
)

// describe describes the effect of a call that needs approval.
func (d *description) describe(q bus.ToolConfirmationRequest, v blocks.Style) {
	c := q.Details
	if c.SystemMessage != "" {
		d.add(blocks.Folded("note: "+c.SystemMessage, v.Columns)...)
	}
	files := approval.Files(q)
	switch {
	case files != nil:
		d.describeSet(files, v)
		d.add("")
	case c.EditDetails != nil:
		d.describeEdit(c.EditDetails, q.Modified, v)
	case c.ExecDetails != nil:
		d.add(describeCommand(q, v)...)
	case c.MCPDetails != nil:
		d.add(describeServerTool(q, v)...)
	case c.InfoDetails != nil:
		d.colours = true
		d.add(v.Markdown(c.Prompt, min(v.Columns, maxProse))...)
		for _, u := range c.URLs {
			d.add(display.Break("  "+display.Line(u), v.Columns)...)
		}
	}
	for _, path := range c.Paths {
		if c.EditDetails == nil || path != c.FilePath {
			for _, line := range display.Break("changes "+display.Line(path), v.Columns) {
				d.add(v.Theme.Dim.Render(line))
			}
		}
	}
}

// maxProse is the width of prose; longer lines are hard to read.
const maxProse = 100

// describeSet shows the changes of several files, one section each.
func (d *description) describeSet(files []display.FileChange, v blocks.Style) {
	diffs := make([]*diffview.Diff, len(files))
	added, removed := 0, 0
	for i, file := range files {
		diffs[i] = d.parse(file.Diff, "", v)
		plus, minus := diffs[i].Stat()
		added, removed = added+plus, removed+minus
	}
	d.add(withStat([]string{fmt.Sprintf("%d files", len(files))}, added, removed, v)...)
	for i, file := range files {
		head := blocks.Folded(fmt.Sprintf("%d of %d: %s", i+1, len(files), file.Change), v.Columns)
		for n, line := range head {
			head[n] = v.Theme.Strong.Render(line)
		}
		if file.Diff != "" {
			plus, minus := diffs[i].Stat()
			head = withStat(head, plus, minus, v)
		}
		d.add("")
		d.add(head...)
		d.addDiff(diffs[i], v)
	}
}

// withStat adds line counts to the last line, or below it if they do not fit.
func withStat(lines []string, added, removed int, v blocks.Style) []string {
	stat := blocks.Stat(added, removed, v)
	last := lines[len(lines)-1] + "  " + stat
	if display.Width(last) > v.Columns {
		return append(lines, stat)
	}
	lines[len(lines)-1] = last
	return lines
}

// describeEdit shows the change of one file.
func (d *description) describeEdit(e *details.EditDetails, modified bool, v blocks.Style) {
	diff := d.parse(e.FileDiff, e.FilePath, v)
	added, removed := diff.Stat()
	path := display.Line(e.FilePath)
	if e.OriginalContent == nil {
		path = "new file: " + path
	}
	d.add(withStat(display.Break(path, v.Columns), added, removed, v)...)
	if s := e.DiffStat; modified && s != nil {
		text := fmt.Sprintf("with your changes: +%d −%d, proposed +%d −%d", s.UserAddedLines, s.UserRemovedLines, s.ModelAddedLines, s.ModelRemovedLines)
		d.add(blocks.Folded(text, v.Columns)...)
	}
	d.addDiff(diff, v)
}

// describeCommand shows a command line verbatim but indented, so that no line of it
// can imitate program output, and the policy decision on each of its parts.
func describeCommand(q bus.ToolConfirmationRequest, v blocks.Style) []string {
	var lines []string
	for _, line := range blocks.Split(display.Untab(display.Printable(blocks.PlainEnds(q.Details.Command)), 0)) {
		for _, piece := range hung("  "+line, v.Columns) {
			lines = append(lines, v.Theme.Code.Render(piece))
		}
	}
	command := len(lines)
	lines = append(lines, describeOthers(q.ToolCall.Args, v)...)
	if how := approval.Confinement(q); how != "" {
		for _, line := range blocks.Folded("  "+how, v.Columns) {
			lines = append(lines, v.Theme.Dim.Render(line))
		}
	}
	parts := approval.Parts(q)
	if len(lines) > command && len(parts) > 0 {
		lines = append(lines, "")
	}
	lines = slices.Insert(lines, command, "")
	for _, part := range parts {
		word := fmt.Sprintf("%-7s", approval.Verdict(string(part.Decision)))
		text := "  " + word + "  " + display.Line(part.Text)
		if why := approval.WhyPart(part); why != "" {
			text += "  " + why
		}
		pieces := blocks.Split(display.Fold(text, "         ", v.Columns))
		for i, piece := range pieces {
			if i == 0 {
				piece = strings.Replace(piece, word, verdictStyle(string(part.Decision), v).Render(word), 1)
			}
			lines = append(lines, display.Cut(piece, v.Columns, "…"))
		}
	}
	return lines
}

func verdictStyle(decision string, v blocks.Style) theme.Style {
	switch decision {
	case "allow":
		return v.Theme.Success
	case "deny":
		return v.Theme.Error
	}
	return v.Theme.Warning
}

// describeOthers lists the other arguments of a command.
func describeOthers(args json.RawMessage, v blocks.Style) []string {
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
		for _, line := range blocks.Folded("  "+display.Line(name)+": "+display.Line(text), v.Columns) {
			lines = append(lines, v.Theme.Dim.Render(line))
		}
	}
	return lines
}

// describeServerTool shows a call of an MCP tool: its server and its arguments.
func describeServerTool(q bus.ToolConfirmationRequest, v blocks.Style) []string {
	c := q.Details.MCPDetails
	head := "tool " + quoted(c.ToolName)
	if c.ToolDisplayName != "" && c.ToolDisplayName != c.ToolName {
		head += " (" + quoted(c.ToolDisplayName) + ")"
	}
	lines := blocks.Folded(head+" of server "+quoted(c.ServerName), v.Columns)
	args := q.ToolCall.Args // the arguments that would be executed
	if len(args) == 0 {
		args = c.ToolArgs
	}
	return append(lines, describeArguments(args, v)...)
}

// quoted returns a name, quoted if it contains more than name characters.
func quoted(name string) string {
	name = display.Cut(display.Line(name), 100, "…")
	if strings.ContainsAny(name, " ()\"") {
		return fmt.Sprintf("%q", name)
	}
	return name
}

// describeArguments formats arguments as indented JSON. Long lines are cut in the
// middle, and of many lines the first and last are shown.
func describeArguments(args json.RawMessage, v blocks.Style) []string {
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
			lines = append(lines, v.Theme.Warning.Render(fmt.Sprintf("  … %s lines omitted …", display.Thousands(last-first))))
		case i < first || i >= last:
			lines = append(lines, hung(display.Printable(middleCut(line)), v.Columns)...)
		}
	}
	return lines
}

// hung wraps a line. The continuation lines are indented further, so that none can
// look like a separate line.
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
	return fmt.Sprintf("%s … %s bytes omitted … %s", head, display.Thousands(omitted), tail)
}
