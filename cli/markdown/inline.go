package markdown

import (
	"bufio"
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	renderhtml "github.com/yuin/goldmark/renderer/html"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/theme"
)

// span is a piece of text in one style. It is safe for the terminal, and a line feed
// in it is a line break.
type span struct {
	text  string
	style theme.Style
}

// spans returns the text of a block, with inline markup converted to styles.
func (r *renderer) spans(block ast.Node, source []byte, base theme.Style) []span {
	c := &collector{renderer: r, source: source}
	c.children(block, base)
	c.end()
	return c.spans
}

// collector collects the text of a block.
type collector struct {
	*renderer
	source []byte
	spans  []span
	open   strings.Builder // the text of the last span
	style  theme.Style     // its style
}

// add adds text of the source.
func (c *collector) add(text string, style theme.Style) {
	if style != c.style {
		c.end()
		c.style = style
	}
	c.open.WriteString(display.Printable(text))
}

// end ends the open span.
func (c *collector) end() {
	if c.open.Len() > 0 {
		c.spans = append(c.spans, span{c.open.String(), c.style})
		c.open.Reset()
	}
}

func (c *collector) children(n ast.Node, style theme.Style) {
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		c.node(child, style)
	}
}

func (c *collector) node(n ast.Node, style theme.Style) {
	switch n := n.(type) {
	case *ast.Text:
		if n.IsRaw() {
			c.add(string(n.Value(c.source)), style)
		} else {
			c.add(unescaped(n.Value(c.source)), style)
		}
		switch {
		case n.HardLineBreak():
			c.add("\n", style)
		case n.SoftLineBreak():
			c.add(" ", style)
		}
	case *ast.String:
		c.add(string(n.Value), style)
	case *ast.CodeSpan:
		c.code(n, style)
	case *ast.Emphasis:
		marks := c.theme.Emphasis
		if n.Level == 2 {
			marks = c.theme.Strong
		}
		c.children(n, marks.On(style))
	case *extast.Strikethrough:
		c.strikethrough(n, style)
	case *ast.Link:
		c.link(n, string(n.Destination), style)
	case *ast.Image:
		c.add("[image: ", style)
		c.children(n, style)
		c.add("]", style)
		c.address(string(n.Destination), style)
	case *ast.AutoLink:
		c.add(string(n.Label(c.source)), c.theme.Link.On(style))
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			segment := n.Segments.At(i)
			c.add(strings.ReplaceAll(string(segment.Value(c.source)), "\n", " "), style)
		}
	case *extast.TaskCheckBox:
		if list, is := n.Parent().Parent().Parent().(*ast.List); !is || list.IsOrdered() { // else it is the mark of the item
			mark, own := c.task(n)
			c.add(mark, own.On(style))
		}
	default:
		c.children(n, style)
	}
}

// code adds a code span, with its backticks if no style marks it.
func (c *collector) code(n *ast.CodeSpan, style theme.Style) {
	var text strings.Builder
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if t, ok := child.(*ast.Text); ok {
			text.Write(t.Value(c.source))
		}
	}
	code := strings.ReplaceAll(text.String(), "\n", " ")
	if c.theme.Code == (theme.Style{}) {
		code = "`" + code + "`"
	}
	c.add(code, c.theme.Code.On(style))
}

func (c *collector) strikethrough(n ast.Node, style theme.Style) {
	if c.plain {
		c.add("~~", style)
		defer c.add("~~", style)
	}
	style.Strikethrough = !c.plain
	c.children(n, style)
}

// link adds the text of a link and its address, unless they are equal.
func (c *collector) link(n ast.Node, address string, style theme.Style) {
	c.end()
	from := len(c.spans)
	c.children(n, style)
	c.end()
	var text strings.Builder
	for _, s := range c.spans[from:] {
		text.WriteString(s.text)
	}
	shown := display.Printable(unescaped([]byte(address)))
	if label := strings.TrimSpace(text.String()); label != shown && "mailto:"+label != shown {
		c.address(address, style)
	}
}

// address adds the address of a link.
func (c *collector) address(address string, style theme.Style) {
	if address == "" {
		return
	}
	c.add(" (", style)
	c.add(strings.ReplaceAll(unescaped([]byte(address)), "\n", " "), c.theme.Link.On(style))
	c.add(")", style)
}

// unescaped resolves backslash escapes and entities.
func unescaped(source []byte) string {
	var b strings.Builder
	w := bufio.NewWriter(&b)
	renderhtml.DefaultWriter.Write(w, source)
	_ = w.Flush() // a Builder does not fail
	return html.UnescapeString(b.String())
}
