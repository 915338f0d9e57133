package markdown

import (
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
)

const (
	codeIndent = "  "
	codeGoesOn = "↪ " // before what did not fit into the line of code above
)

// codeLabel is the line above a block of code: what is said behind its fence.
func (r *renderer) codeLabel(label string, columns int) []string {
	if label == "" {
		return nil
	}
	return []string{codeIndent + r.theme.Dim.Render(display.Cut(display.Line(label), columns-len(codeIndent), "…"))}
}

// codeLine is a line of code, as it is; what does not fit goes on below.
func (r *renderer) codeLine(line string, columns int) []string {
	text := display.Untab(display.Printable(strings.TrimSuffix(line, "\r")), 0)
	if strings.TrimSpace(text) == "" {
		return []string{""}
	}
	pieces := display.Break(text, max(columns-len(codeIndent), 1))
	for i, piece := range pieces {
		before := codeIndent
		if i > 0 {
			before = r.theme.Dim.Render(codeGoesOn)
		}
		pieces[i] = before + r.theme.Code.Render(piece)
	}
	return pieces
}
