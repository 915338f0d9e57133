package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/core/bus"
)

// renderQuestion is what a person needs to know to decide, as text: what would
// be done, why it is asked, and what an always would stand for. Prose is broken
// at so many columns; commands, diffs and arguments are as they are.
func renderQuestion(q bus.ToolConfirmationRequest, columns int, colour bool) string {
	var b strings.Builder
	b.WriteString("\n" + paint(styleBold, fold(printable(q.Details.Title), "", columns), colour) + "\n")
	if q.Subagent != "" {
		b.WriteString(fold("asked for by the subagent "+oneLine(q.Subagent)+"\n", "", columns))
	}
	if q.Details.SystemMessage != "" {
		b.WriteString(fold(paint(styleBold, "note: ", colour)+printable(q.Details.SystemMessage)+"\n", "", columns))
	}
	renderDetails(&b, q, columns, colour)
	b.WriteString(paint(styleDim, fold("why: "+approval.Why(q), "", columns), colour) + "\n")
	for _, lasting := range approval.Lasts(q, approval.Replies(q.Outcomes)) {
		renderLasting(&b, lasting, columns, colour)
	}
	return b.String()
}

// renderLasting shows what answers stand for that last: one rule beside the answer,
// several below it, a line each.
func renderLasting(b *strings.Builder, l approval.Lasting, columns int, colour bool) {
	line := func(text, hang string) { b.WriteString(paint(styleDim, fold(text, hang, columns), colour) + "\n") }
	heads := make([]string, len(l.Replies))
	for i, r := range l.Replies {
		heads[i] = fmt.Sprintf("[%s] %s", r.Key, r.Until)
		switch {
		case r.Outcome == bus.Cancel:
			line(fmt.Sprintf("  [%s] %s: n write tests first", r.Key, l.Lines[0]), "    ")
		case len(l.Lines) == 1:
			line("  "+heads[i]+": "+l.Lines[0], "    ")
		}
	}
	if len(l.Lines) == 1 {
		return
	}
	line("  "+strings.Join(heads, ", ")+":", "    ")
	for _, rule := range l.Lines {
		line("    - "+rule, "      ")
	}
}

func renderDetails(b *strings.Builder, q bus.ToolConfirmationRequest, columns int, colour bool) {
	c := q.Details
	switch {
	case c.EditDetails != nil:
		renderEdit(b, c.EditDetails, q.Modified, colour)
	case c.ExecDetails != nil:
		b.WriteString(printable(c.Command) + "\n")
		renderOthers(b, q.ToolCall.Args, colour)
		renderParts(b, approval.Parts(q), colour)
	case c.MCPDetails != nil:
		renderServerTool(b, q, columns)
	case c.InfoDetails != nil:
		b.WriteString(fold(printable(c.Prompt)+"\n", "", columns))
		for _, u := range c.URLs {
			b.WriteString("  " + oneLine(u) + "\n")
		}
	}
	for _, path := range c.Paths {
		if c.EditDetails == nil || path != c.FilePath {
			b.WriteString("changes " + oneLine(path) + "\n")
		}
	}
}

// renderEdit shows a change of one file.
func renderEdit(b *strings.Builder, e *bus.EditDetails, modified, colour bool) {
	if e.OriginalContent == nil {
		b.WriteString("new file: ")
	}
	diff, added, removed := renderNumberedDiff(e.FileDiff, colour)
	fmt.Fprintf(b, "%s  %s\n", oneLine(e.FilePath), renderStat(added, removed, colour))
	if s := e.DiffStat; modified && s != nil {
		fmt.Fprintf(b, "with your changes: %s, to the proposal's %s\n",
			renderStat(s.UserAddedLines, s.UserRemovedLines, colour), renderStat(s.ModelAddedLines, s.ModelRemovedLines, colour))
	}
	b.WriteString(diff)
}

// renderStat counts lines, as +3 −1.
func renderStat(added, removed int, colour bool) string {
	return paint(styleGreen, fmt.Sprintf("+%d", added), colour) + " " + paint(styleRed, fmt.Sprintf("\u2212%d", removed), colour)
}

func renderParts(b *strings.Builder, parts []bus.Part, colour bool) {
	for _, part := range parts {
		word := fmt.Sprintf("%-7s", approval.Verdict(part.Decision))
		fmt.Fprintf(b, "  %s  %s", paint(verdictStyle(part.Decision), word, colour), oneLine(part.Text))
		if why := approval.WhyPart(part); why != "" {
			b.WriteString("  " + paint(styleDim, why, colour))
		}
		b.WriteByte('\n')
	}
}

// renderOthers lists the arguments of a command beside the command: where it
// runs, how, and what the model says of it.
func renderOthers(b *strings.Builder, args json.RawMessage, colour bool) {
	names, values, err := members(args)
	if err != nil {
		return
	}
	for i, name := range names {
		if name == "command" {
			continue
		}
		var value any
		if err := json.Unmarshal(values[i], &value); err != nil {
			continue
		}
		text, isText := value.(string)
		if !isText {
			text = string(values[i])
		}
		b.WriteString("  " + paint(styleDim, oneLine(name)+":", colour) + " " + oneLine(text) + "\n")
	}
}

// verdictStyle is how the word for a decision looks.
func verdictStyle(decision string) style {
	switch decision {
	case "allow":
		return styleGreen
	case "deny":
		return styleRed
	}
	return styleCyan
}
