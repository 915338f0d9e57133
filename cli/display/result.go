package display

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/tools"
)

// RenderEdit shows a change of one file.
func RenderEdit(b *strings.Builder, e *confirmation.EditDetails, modified, colour bool) {
	if e.OriginalContent == nil {
		b.WriteString("new file: ")
	}
	diff, added, removed := TerminalNumberedDiff(e.FileDiff, colour)
	fmt.Fprintf(b, "%s  %s\n", Line(e.FilePath), RenderStat(added, removed, colour))
	if s := e.DiffStat; modified && s != nil {
		fmt.Fprintf(b, "with your changes: %s, proposed %s\n",
			RenderStat(s.UserAddedLines, s.UserRemovedLines, colour), RenderStat(s.ModelAddedLines, s.ModelRemovedLines, colour))
	}
	b.WriteString(diff)
}

// RenderStat formats line counts, such as +3 −1.
func RenderStat(added, removed int, colour bool) string {
	return Paint(StyleGreen, fmt.Sprintf("+%d", added), colour) + " " + Paint(StyleRed, fmt.Sprintf("\u2212%d", removed), colour)
}

// RenderDisplay formats the display of a result, safe to print.
func RenderDisplay(b *strings.Builder, d tools.Display, colour bool) {
	switch {
	case d.Diff != nil:
		RenderEdit(b, &confirmation.EditDetails{
			FileName: d.Diff.FileName, FilePath: d.Diff.FilePath, FileDiff: d.Diff.FileDiff, OriginalContent: d.Diff.OriginalContent, NewContent: d.Diff.NewContent,
		}, false, colour)
	case d.ANSI != nil:
		f := ANSIFilter{Colour: colour}
		b.WriteString(f.Filter(d.ANSI.ANSI) + f.End())
	case d.Todo != nil:
		for _, todo := range d.Todo.Todos {
			fmt.Fprintf(b, "  %-11s  %s\n", todo.Status, Line(todo.Description))
		}
	default:
		if files := ResultChanges(d.Text); files != nil {
			renderSet(b, files, colour)
			return
		}
		b.WriteString(Printable(d.Text) + "\n")
	}
}

// RenderPreview formats the preview of a plan mode call, safe to print.
func RenderPreview(tool string, d tools.Display, colour bool) string {
	var b strings.Builder
	b.WriteString("\n" + Paint(StyleBold, "Plan mode: preview of "+Line(tool)+"; no changes were made.", colour) + "\n")
	RenderDisplay(&b, d, colour)
	return b.String()
}
