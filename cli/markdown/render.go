package markdown

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/highlight"
	"github.com/fettle-dev/fettle/cli/theme"
)

// renderer renders the blocks of one source.
type renderer struct {
	columns     int
	theme       theme.Theme
	plain       bool // the theme has no styles
	marks       marks
	highlighter *highlight.Highlighter
	parser      parser.Parser
	references  *references // defined so far
	code        code        // the open code block
	depth       int         // of lists
}

func newRenderer(columns int, t theme.Theme, h *highlight.Highlighter) *renderer {
	return &renderer{
		columns: columns, theme: t, plain: t.Plain(), marks: marksOf(&t), highlighter: h,
		parser:     goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser(),
		references: &references{},
	}
}

// ahead returns a copy of r that can be changed independently.
func (r *renderer) ahead() *renderer {
	c := *r
	c.references = &references{earlier: r.references}
	return &c
}

// block renders a part of the source.
func (r *renderer) block(source []byte) []string {
	if costly(source) {
		return r.verbatim(source)
	}
	known := blockContext{parser.NewContext(), r.references}
	document := r.parser.Parse(text.NewReader(source), parser.WithContext(known))
	r.references.add(known.References())
	return r.blocks(document, source, r.columns, true)
}

// costly reports whether parsing a part would take much longer than ordinary text of
// its length: it is nested excessively, or consists of unclosed links.
func costly(source []byte) bool {
	const manyLevels, manySteps = 100, 64 << 20
	if len(source)*bytes.Count(source, []byte("](")) > manySteps {
		return true
	}
	for line := range bytes.Lines(source) {
		levels, wordless := 0, true
		for _, c := range line {
			if wordless = wordless && strings.IndexByte(" \t>-+*.)0123456789", c) >= 0; !wordless {
				break
			}
			if strings.IndexByte(">-+*.)", c) >= 0 {
				levels++
			}
		}
		if levels > manyLevels && !isRule(line) {
			return true
		}
	}
	return false
}

// isRule reports whether a line is a thematic break, such as ***.
func isRule(line []byte) bool {
	marks := bytes.Join(bytes.Fields(line), nil)
	return len(marks) > 0 && strings.IndexByte("-*", marks[0]) >= 0 && len(bytes.Trim(marks, string(marks[0]))) == 0
}

// verbatim renders a part unchanged.
func (r *renderer) verbatim(source []byte) []string {
	var lines []string
	for line := range strings.Lines(strings.Trim(string(source), "\n")) {
		safe := display.Untab(display.Printable(strings.TrimSuffix(line, "\n")), 0)
		lines = append(lines, display.Break(safe, r.columns)...)
	}
	return lines
}

// blocks renders the blocks in a container, with or without blank lines between them.
func (r *renderer) blocks(container ast.Node, source []byte, columns int, apart bool) []string {
	var lines []string
	for n := container.FirstChild(); n != nil; n = n.NextSibling() {
		block := r.one(n, source, columns)
		if len(block) == 0 {
			continue
		}
		if apart && len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, block...)
	}
	return lines
}

func (r *renderer) one(n ast.Node, source []byte, columns int) []string {
	switch n := n.(type) {
	case *ast.Heading:
		style := r.heading(n.Level)
		text := r.spans(n, source, style)
		if r.plain { // nothing else marks it
			text = append([]span{{strings.Repeat("#", n.Level) + " ", style}}, text...)
		}
		return fold(text, columns)
	case *ast.ThematicBreak:
		return []string{r.theme.Border.Render(strings.Repeat(r.marks.rule, columns))}
	case *ast.FencedCodeBlock:
		label := ""
		if n.Info != nil {
			label = unescaped(n.Info.Value(source))
		}
		return append(r.codeLabel(label, columns), r.codeBlock(n, source, columns)...)
	case *ast.CodeBlock:
		r.code = code{}
		return r.codeBlock(n, source, columns)
	case *ast.HTMLBlock:
		return r.html(n, source, columns)
	case *ast.Blockquote:
		return r.quote(n, source, columns)
	case *ast.List:
		return r.list(n, source, columns)
	case *extast.Table:
		return r.table(n, source, columns)
	case *ast.LinkReferenceDefinition:
		return nil
	}
	if !n.HasChildren() {
		return nil
	}
	return fold(r.spans(n, source, r.theme.Text), columns)
}

func (r *renderer) codeBlock(n ast.Node, source []byte, columns int) []string {
	var lines []string
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		lines = append(lines, r.codeLine(strings.TrimSuffix(string(segment.Value(source)), "\n"), columns)...)
	}
	return lines
}

func (r *renderer) html(n *ast.HTMLBlock, source []byte, columns int) []string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		b.Write(segment.Value(source))
	}
	if n.HasClosure() {
		b.Write(n.ClosureLine.Value(source))
	}
	return fold([]span{{display.Printable(strings.TrimRight(b.String(), "\n")), r.theme.Text}}, columns)
}

// minNested is the minimum width of nested content; with less, it is not indented
// further.
const minNested = 8

func (r *renderer) quote(n ast.Node, source []byte, columns int) []string {
	if columns-2 < minNested {
		return r.blocks(n, source, columns, true)
	}
	lines := r.blocks(n, source, columns-2, true)
	for i, line := range lines {
		lines[i] = strings.TrimRight(r.theme.Quote.Render(r.marks.quote)+line, " ")
	}
	return lines
}

func (r *renderer) list(n *ast.List, source []byte, columns int) []string {
	var lines []string
	number := n.Start
	bullet := r.marks.bullets[min(r.depth, len(r.marks.bullets)-1)]
	if !n.IsOrdered() {
		r.depth++
		defer func() { r.depth-- }()
	}
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark, style := bullet, r.theme.Accent
		if box := task(item); box != nil && !n.IsOrdered() {
			mark, style = r.task(box)
		} else if n.IsOrdered() {
			mark = fmt.Sprintf("%d%c ", number, n.Marker)
			number++
		}
		indent := strings.Repeat(" ", display.Width(mark))
		if columns-len(indent) < minNested {
			indent = ""
		}
		room := columns - len(indent)
		block := r.blocks(item, source, room, !n.IsTight)
		if len(block) == 0 {
			block = []string{""}
		}
		if !n.IsTight && len(lines) > 0 {
			lines = append(lines, "")
		}
		if indent == "" {
			lines = append(lines, strings.TrimRight(mark, " "))
		}
		for i, line := range block {
			switch {
			case indent == "", line == "" && i > 0:
			case i == 0:
				line = strings.TrimRight(style.Render(mark)+line, " ")
			default:
				line = indent + line
			}
			lines = append(lines, line)
		}
	}
	return lines
}
