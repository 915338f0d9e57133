package approval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/escape"
)

// Limits on the displayed call of an MCP tool.
const (
	maxShownName  = 100 // characters
	maxShownLine  = 600 // bytes of a line of the arguments
	maxShownLines = 80  // of the arguments
)

// renderServerTool shows a call of an MCP tool: its server and its arguments. A name
// is quoted if it contains more than name characters.
func renderServerTool(b *strings.Builder, q bus.ToolConfirmationRequest, columns int) {
	c := q.Details
	name := nameOf(c.ToolName)
	if shown := strings.TrimSpace(c.ToolDisplayName); shown != "" && shown != c.ToolName {
		if strings.ContainsAny(shown, `()"`) {
			shown = escape.Quote(shown)
		}
		name += " (" + cutName(display.Line(shown)) + ")"
	}
	b.WriteString(display.Fold(fmt.Sprintf("tool %s of server %s\n", name, nameOf(c.ServerName)), "  ", columns))
	args := q.ToolCall.Args // the arguments that would be executed
	if len(args) == 0 {
		args = c.ToolArgs
	}
	renderArguments(b, args, columns)
}

func nameOf(name string) string {
	if strings.ContainsAny(name, " ()\"\t\n") {
		name = escape.Quote(name)
	}
	return cutName(display.Line(name))
}

// cutName cuts a name that is too long to read.
func cutName(name string) string {
	if r := []rune(name); len(r) > maxShownName {
		return fmt.Sprintf("%s… (%d more characters)", string(r[:maxShownName]), len(r)-maxShownName)
	}
	return name
}

// renderArguments shows arguments as indented JSON. Long lines are cut in the middle,
// and of many lines the first and last are shown. Lines are wrapped here and not by
// the terminal, so that no part can look like program output.
func renderArguments(b *strings.Builder, args json.RawMessage, columns int) {
	var indented bytes.Buffer
	if err := json.Indent(&indented, args, "  ", "  "); err != nil || len(args) == 0 {
		return
	}
	lines := strings.Split("  "+indented.String(), "\n")
	first, last := len(lines), len(lines)
	if len(lines) > maxShownLines {
		first, last = maxShownLines*3/4, len(lines)-maxShownLines/4
	}
	for i, line := range lines {
		switch {
		case i == first:
			fmt.Fprintf(b, "  … %d lines omitted …\n", last-first)
		case i < first || i >= last:
			writeBroken(b, display.Printable(cutLine(line)), columns)
		}
	}
}

// cutLine cuts the middle out of a long line.
func cutLine(line string) string {
	head, tail, omitted := escape.Ends(line, maxShownLine*3/4, maxShownLine/4)
	if omitted == 0 {
		return line
	}
	return fmt.Sprintf("%s … %d bytes omitted … %s", head, omitted, tail)
}

// writeBroken writes a line in pieces of at most columns, with the continuation lines
// indented further.
func writeBroken(b *strings.Builder, line string, columns int) {
	hang := line[:len(line)-len(strings.TrimLeft(line, " "))] + "    "
	if len(hang) > columns/2 {
		hang = "      "
	}
	room := max(columns, 2*len(hang))
	used := 0
	for _, r := range line {
		wide := 1
		if r >= 0x1100 { // many of these take two columns
			wide = 2
		}
		if used+wide > room {
			b.WriteString("\n" + hang)
			used = len(hang)
		}
		b.WriteRune(r)
		used += wide
	}
	b.WriteByte('\n')
}
