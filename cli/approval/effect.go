package approval

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/bus"
)

// Effect describes the effect of a call, and why it needs approval, as lines of plain text
// for a remote approver. The diff of an edit is not part of it. block renders a command or
// arguments as a block of lines.
func Effect(q bus.ToolConfirmationRequest, block func(text string) string) string {
	var b strings.Builder
	d := q.Details
	switch {
	case d.ExecDetails != nil:
		b.WriteString(block(d.Command) + "\n")
		if how := Confinement(q); how != "" {
			fmt.Fprintf(&b, "It %s.\n", how)
		}
		for _, part := range Parts(q) {
			fmt.Fprintf(&b, "- %s: %s. %s\n", Verdict(string(part.Decision)), display.Line(part.Text), WhyPart(part))
		}
	case d.MCPDetails != nil:
		fmt.Fprintf(&b, "Tool %s of the MCP server %s.\n%s\n", display.Line(d.ToolName), display.Line(d.ServerName), block(string(q.ToolCall.Args)))
	case d.InfoDetails != nil:
		b.WriteString(d.Prompt + "\n")
		for _, u := range d.URLs {
			b.WriteString(u + "\n")
		}
	}
	if d.SystemMessage != "" {
		fmt.Fprintf(&b, "Note: %s\n", d.SystemMessage)
	}
	for _, path := range d.Paths {
		if d.EditDetails == nil || path != d.FilePath { // the diff names its file
			fmt.Fprintf(&b, "It changes %s.\n", display.Line(path))
		}
	}
	fmt.Fprintf(&b, "Why: %s", Why(q))
	return b.String()
}
