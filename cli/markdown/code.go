package markdown

import (
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/highlight"
	"github.com/fettle-dev/fettle/cli/theme"
)

const codeIndent = "  "

// code is the open code block.
type code struct {
	diff     bool // it is a diff
	new, old side // of a diff; other code has only the new one
}

// side is the file after or before the change of a diff.
type side struct {
	block highlight.Block
	lines int // until the hunk ends; negative: it does not end
}

// codeLabel starts a code block, and returns the line above it with its info string.
func (r *renderer) codeLabel(label string, columns int) []string {
	language, _, _ := strings.Cut(strings.TrimSpace(label), " ")
	r.code = code{diff: language == "diff" || language == "patch"}
	if !r.code.diff {
		r.code.new.block = r.highlighter.Block(language)
	}
	if label == "" {
		return nil
	}
	room := columns - len(codeIndent)
	if r.plain || room < 12 {
		return []string{codeIndent + r.theme.Dim.Render(display.Cut(display.Line(label), room, r.marks.cut))}
	}
	label = display.Cut(display.Line(label), room-6, r.marks.cut)
	rule := strings.Repeat(r.marks.rule, max(min(room, maxCodeRule)-4-display.Width(label), 2))
	return []string{codeIndent + r.theme.Border.Render(r.marks.rule+r.marks.rule) + " " + r.theme.Dim.Render(label) + " " + r.theme.Border.Render(rule)}
}

// maxCodeRule is the maximum width of the rule above a code block.
const maxCodeRule = 60

// codeLine returns a line of code unchanged; the part that does not fit continues
// below.
func (r *renderer) codeLine(line string, columns int) []string {
	if r.code.diff {
		return r.diffLine(strings.TrimSuffix(line, "\r"), columns)
	}
	text := codeText(line)
	tokens := r.code.new.block.Line(text)
	if strings.TrimSpace(text) == "" {
		return []string{""}
	}
	base := r.theme.Code
	if r.code.new.block.Known() {
		base = r.theme.Text
	}
	return r.codePieces(text, tokens, base, columns)
}

// codeText returns a line of code that is safe to print.
func codeText(line string) string {
	return display.Untab(display.Printable(strings.TrimSuffix(line, "\r")), 0)
}

// codePieces wraps a line of code.
func (r *renderer) codePieces(text string, tokens []highlight.Token, base theme.Style, columns int) []string {
	pieces := display.Break(text, max(columns-len(codeIndent), 1))
	for i, piece := range pieces {
		before := codeIndent
		if i > 0 {
			before = r.theme.Dim.Render(r.marks.more)
		}
		var head []highlight.Token
		head, tokens = highlight.Split(tokens, len(piece))
		pieces[i] = before + highlight.Render(head, base, &r.theme)
	}
	return pieces
}

// diffLine returns a line of a diff. With backgrounds, its code has the colours of the
// language of the file.
func (r *renderer) diffLine(line string, columns int) []string {
	c := &r.code
	text := codeText(line)
	if text == "" {
		c.count(" ")
		return []string{""}
	}
	tokens, style := []highlight.Token{{Text: text}}, r.theme.Code
	inHunk := c.old.lines != 0 || c.new.lines != 0
	switch sign := line[:1]; {
	case strings.HasPrefix(line, "@@"):
		c.old.lines, c.new.lines = display.HunkLengths(line)
		style = r.theme.Hunk
	case !inHunk && isFileName(line):
		if path, is := strings.CutPrefix(line, "+++ "); is {
			path, _, _ = strings.Cut(path, "\t")
			c.new.block = r.highlighter.File(path)
			c.old.block = c.new.block
		}
		style = r.theme.Strong
	case sign == "+" || sign == "-":
		c.count(sign)
		side, line, plain := &c.new.block, r.theme.AddedLine, r.theme.Added
		if sign == "-" {
			side, line, plain = &c.old.block, r.theme.RemovedLine, r.theme.Removed
		}
		if style = plain; r.theme.Backgrounds() {
			style, tokens = line, signed(text, side)
		}
	case sign == " " && inHunk:
		c.count(sign)
		tokens = signed(text, &c.new.block)
		signed(text, &c.old.block)
		if c.new.block.Known() {
			style = r.theme.Text
		}
	case sign == `\`:
		style = r.theme.Dim
	}
	if strings.TrimSpace(text) == "" {
		return []string{""}
	}
	lines := r.codePieces(text, tokens, style, columns)
	if style.Background != nil {
		for i, l := range lines {
			lines[i] += style.Render(strings.Repeat(" ", max(columns-display.Width(l), 0)))
		}
	}
	return lines
}

// count counts a line of a hunk. A hunk without lengths does not end.
func (c *code) count(sign string) {
	if sign != "+" && c.old.lines > 0 {
		c.old.lines--
	}
	if sign != "-" && c.new.lines > 0 {
		c.new.lines--
	}
}

// signed returns the tokens of a line of a diff, whose sign has no kind.
func signed(text string, b *highlight.Block) []highlight.Token {
	return append([]highlight.Token{{Text: text[:1]}}, b.Line(text[1:])...)
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
