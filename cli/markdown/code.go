package markdown

import (
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/theme"
)

const (
	codeIndent = "  "
	codeGoesOn = "↪ " // starts a continuation line of code
)

// codeLabel returns the line above a code block, with its info string. The lines of a
// diff are coloured.
func (r *renderer) codeLabel(label string, columns int) []string {
	language, _, _ := strings.Cut(strings.TrimSpace(label), " ")
	r.diff, r.hunk = language == "diff" || language == "patch", false
	if label == "" {
		return nil
	}
	return []string{codeIndent + r.theme.Dim.Render(display.Cut(display.Line(label), columns-len(codeIndent), "…"))}
}

// codeLine returns a line of code unchanged; the part that does not fit continues
// below.
func (r *renderer) codeLine(line string, columns int) []string {
	text := display.Untab(display.Printable(strings.TrimSuffix(line, "\r")), 0)
	if strings.TrimSpace(text) == "" {
		return []string{""}
	}
	style := r.theme.Code
	if r.diff {
		r.hunk = r.hunk || strings.HasPrefix(line, "@@")
		if of := display.DiffStyle(line, r.hunk || !isFileName(line), r.theme); of != (theme.Style{}) {
			style = of
		}
	}
	pieces := display.Break(text, max(columns-len(codeIndent), 1))
	for i, piece := range pieces {
		before := codeIndent
		if i > 0 {
			before = r.theme.Dim.Render(codeGoesOn)
		}
		pieces[i] = before + style.Render(piece)
	}
	return pieces
}

// isFileName reports whether a line of a diff is a file header. Hunks may also come
// without one.
func isFileName(line string) bool {
	for _, prefix := range []string{"--- ", "+++ ", "diff ", "index "} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}
