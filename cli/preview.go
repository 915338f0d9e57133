package cli

import (
	"io"
	"strings"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// showPreview shows the person at the terminal what a call of plan mode would
// have done (AR-27). The answer on stdout is not touched.
func (p *program) showPreview(r scheduler.Response) {
	if isTerminal(p.err) && r.Decision.Previews && r.Status == scheduler.StatusSuccess {
		_, _ = io.WriteString(p.err, renderPreview(r.Tool, r.Result.ReturnDisplay, wantsColour(p.err)))
	}
}

func renderPreview(tool string, d tools.Display, colour bool) string {
	var b strings.Builder
	b.WriteString("\n" + paint(styleBold, "Plan mode: what "+oneLine(tool)+" would do. Nothing was changed.", colour) + "\n")
	if diff := d.Diff; diff != nil {
		renderEdit(&b, &bus.EditDetails{
			FileName: diff.FileName, FilePath: diff.FilePath, FileDiff: diff.FileDiff, OriginalContent: diff.OriginalContent, NewContent: diff.NewContent,
		}, false, colour)
	} else {
		b.WriteString(printable(d.Text) + "\n")
	}
	return b.String()
}
