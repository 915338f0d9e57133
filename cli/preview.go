package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// showPreview shows the person at the terminal what a call of plan mode would
// have done (AR-27). The answer on stdout is not touched.
func (p *program) showPreview(r scheduler.Response) {
	if isTerminal(p.err) && r.Preview {
		_, _ = io.WriteString(p.err, renderPreview(r.Tool, r.Result.ReturnDisplay, wantsColour(p.err)))
	}
}

func renderPreview(tool string, d tools.Display, colour bool) string {
	var b strings.Builder
	b.WriteString("\n" + paint(styleBold, "Plan mode: what "+oneLine(tool)+" would do. Nothing was changed.", colour) + "\n")
	renderDisplay(&b, d, colour)
	return b.String()
}

// renderDisplay shows what a result holds for people (AR-18), safe to print.
func renderDisplay(b *strings.Builder, d tools.Display, colour bool) {
	switch {
	case d.Diff != nil:
		renderEdit(b, &bus.EditDetails{
			FileName: d.Diff.FileName, FilePath: d.Diff.FilePath, FileDiff: d.Diff.FileDiff, OriginalContent: d.Diff.OriginalContent, NewContent: d.Diff.NewContent,
		}, false, colour)
	case d.ANSI != nil:
		f := display.ANSIFilter{Colour: colour}
		b.WriteString(f.Filter(d.ANSI.ANSI) + f.End())
	case d.Todo != nil:
		for _, todo := range d.Todo.Todos {
			fmt.Fprintf(b, "  %-11s  %s\n", todo.Status, oneLine(todo.Description))
		}
	default:
		b.WriteString(printable(d.Text) + "\n")
	}
}
