package approval

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
)

// renderQuestion returns the text of an approval request: the effect of the call, why
// it needs approval, and the scope of answers that add rules, some of them in the file
// savedIn. Prose is wrapped at
// columns; commands, diffs and arguments are verbatim.
func renderQuestion(q bus.ToolConfirmationRequest, savedIn string, columns int, colour bool) string {
	var b strings.Builder
	b.WriteString("\n" + display.Paint(display.StyleBold, display.Fold(display.Printable(q.Details.Title), "", columns), colour) + "\n")
	if q.Subagent != "" {
		b.WriteString(display.Fold("requested by the subagent "+display.Line(q.Subagent)+"\n", "", columns))
	}
	if q.Details.SystemMessage != "" {
		b.WriteString(display.Fold(display.Paint(display.StyleBold, "note: ", colour)+display.Printable(q.Details.SystemMessage)+"\n", "", columns))
	}
	renderDetails(&b, q, columns, colour)
	b.WriteString(display.Paint(display.StyleDim, display.Fold("why: "+Why(q), "", columns), colour) + "\n")
	for _, g := range Groups(Choices(q, savedIn)) {
		renderGroup(&b, g, columns, colour)
	}
	if q.ToolCall.Name == exitPlanMode {
		b.WriteString(display.Paint(display.StyleDim, "  [n] optionally with a reason: n write tests first", colour) + "\n")
	}
	return b.String()
}

// renderGroup shows the rules that answers add: one rule next to the answer, several
// below it, one per line.
func renderGroup(b *strings.Builder, g Group, columns int, colour bool) {
	line := func(text, hang string) {
		b.WriteString(display.Paint(display.StyleDim, display.Fold(text, hang, columns), colour) + "\n")
	}
	if len(g.Rules) == 1 {
		for _, c := range g.Choices {
			line(fmt.Sprintf("  [%s] %s: %s", c.Key, c.Scope, g.Rules[0]), "    ")
		}
		return
	}
	line("  "+g.Heading()+":", "    ")
	for _, rule := range g.Rules {
		line("    - "+rule, "      ")
	}
}

func renderDetails(b *strings.Builder, q bus.ToolConfirmationRequest, columns int, colour bool) {
	c := q.Details
	switch {
	case c.EditDetails != nil:
		display.RenderEdit(b, c.EditDetails, q.Modified, colour)
	case c.ExecDetails != nil:
		b.WriteString(display.Printable(c.Command) + "\n")
		renderOthers(b, q.ToolCall.Args, colour)
		if how := Confinement(q); how != "" {
			b.WriteString("  " + display.Paint(display.StyleDim, how, colour) + "\n")
		}
		renderParts(b, Parts(q), colour)
	case c.MCPDetails != nil:
		renderServerTool(b, q, columns)
	case c.InfoDetails != nil && len(c.Bases) > 0: // changes of several files, in a fence
		b.WriteString(display.TerminalDiff(setText(c.Prompt), colour))
	case c.InfoDetails != nil:
		b.WriteString(display.Fold(display.Printable(c.Prompt)+"\n", "", columns))
		for _, u := range c.URLs {
			b.WriteString("  " + display.Line(u) + "\n")
		}
	}
	for _, path := range c.Paths {
		if c.EditDetails == nil || path != c.FilePath {
			b.WriteString("changes " + display.Line(path) + "\n")
		}
	}
}

func renderParts(b *strings.Builder, parts []confirmation.Part, colour bool) {
	for _, part := range parts {
		word := fmt.Sprintf("%-7s", Verdict(string(part.Decision)))
		fmt.Fprintf(b, "  %s  %s", display.Paint(verdictStyle(string(part.Decision)), word, colour), display.Line(part.Text))
		if why := WhyPart(part); why != "" {
			b.WriteString("  " + display.Paint(display.StyleDim, why, colour))
		}
		b.WriteByte('\n')
	}
}

// renderOthers lists the other arguments of a command: its directory, its mode and
// the model's description.
func renderOthers(b *strings.Builder, args json.RawMessage, colour bool) {
	names, values, err := display.Members(args)
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
		b.WriteString("  " + display.Paint(display.StyleDim, display.Line(name)+":", colour) + " " + display.Line(text) + "\n")
	}
}

// verdictStyle returns the style of a decision.
func verdictStyle(decision string) display.Style {
	switch decision {
	case "allow":
		return display.StyleGreen
	case "deny":
		return display.StyleRed
	}
	return display.StyleCyan
}
