package webfetch

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/fettle-dev/fettle/core/escape"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Limits of a document for the converter, which has steps of quadratic time or memory.
const (
	maxKept      = 200_000 // nodes
	maxCells     = 20_000  // of all tables, after short rows are filled up
	maxNesting   = 16      // of lists and quotations
	maxAttribute = 2_000   // bytes of an attribute
)

// cleaner prepares a document for the converter.
type cleaner struct {
	base    *url.URL // base of relative links
	chars   int      // remaining characters of text, without white space
	nodes   int      // remaining nodes
	cells   int      // remaining table cells
	nesting int      // lists and quotations around the current element
	trimmed bool     // visible content was removed
}

// clean removes every node without text, and all content after the first most characters. It makes
// links absolute and returns the title on one line. u is the URL of the document.
func clean(doc *html.Node, u *url.URL, most int) (title string, trimmed bool) {
	c := cleaner{base: u, chars: most, nodes: maxKept, cells: maxCells}
	if b := find(doc, atom.Base); b != nil {
		if at, err := u.Parse(strings.TrimSpace(attribute(b, "href"))); err == nil && (at.Scheme == "http" || at.Scheme == "https") {
			c.base = at
		}
	}
	if t := find(doc, atom.Title); t != nil && t.FirstChild != nil {
		const longest = 300
		title = escape.Plain(t.FirstChild.Data, longest)
	}
	c.children(doc)
	return title, c.trimmed
}

// find returns the first HTML element of a kind, or nil. Elements of other namespaces do not count.
func find(n *html.Node, kind atom.Atom) *html.Node {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.DataAtom == kind && d.Namespace == "" {
			return d
		}
	}
	return nil
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// children cleans all descendants of n. The parser bounds the depth of the tree.
func (c *cleaner) children(n *html.Node) {
	for child := n.FirstChild; child != nil; {
		after := child.NextSibling
		switch {
		case child.Type == html.CommentNode || child.Type == html.ElementNode && hasNoText(child):
			n.RemoveChild(child)
		case c.chars == 0 || c.nodes == 0:
			c.trimmed = true
			n.RemoveChild(child)
		case child.Type == html.TextNode:
			c.nodes--
			c.text(child)
		case child.Type == html.ElementNode:
			c.nodes--
			c.element(child)
		}
		child = after
	}
}

// element cleans an element and its descendants.
func (c *cleaner) element(n *html.Node) {
	n.Attr = c.attributes(n.Attr)
	switch n.DataAtom {
	case atom.Blockquote, atom.Ul, atom.Ol, atom.Dl:
		if c.nesting == maxNesting {
			c.children(n)
			flatten(n)
			return
		}
		c.nesting++
		defer func() { c.nesting-- }()
	case atom.Table:
		c.children(n)
		rows, columns := size(n)
		if rows*columns > c.cells {
			for d := range n.Descendants() {
				if tablePart(d) {
					flatten(d)
				}
			}
			flatten(n)
			return
		}
		c.cells -= rows * columns
		for d := range n.Descendants() {
			if d.Type == html.TextNode { // an unescaped bar would end the cell
				d.Data = strings.ReplaceAll(d.Data, "|", `\|`)
			}
		}
		return
	}
	c.children(n)
}

// flatten turns an element into a plain block.
func flatten(n *html.Node) { n.Data, n.DataAtom = "div", atom.Div }

func tablePart(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Table, atom.Caption, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th:
		return n.Type == html.ElementNode
	}
	return false
}

// size returns the numbers of rows and columns of a table, nested tables included.
func size(n *html.Node) (rows, columns int) {
	for d := range n.Descendants() {
		if d.Type != html.ElementNode || d.DataAtom != atom.Tr {
			continue
		}
		rows++
		cells := 0
		for cell := range d.ChildNodes() {
			if cell.DataAtom == atom.Td || cell.DataAtom == atom.Th {
				cells += span(attribute(cell, "colspan"))
				rows += span(attribute(cell, "rowspan")) - 1
			}
		}
		columns = max(columns, cells)
	}
	return rows, columns
}

// span parses a colspan or rowspan; an invalid one is 1.
func span(value string) int {
	n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 16)
	if err != nil || n == 0 {
		return 1
	}
	return int(n)
}

// hasNoText reports whether an element has no readable content.
func hasNoText(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Svg, atom.Canvas, atom.Object, atom.Embed, atom.Iframe, atom.Audio, atom.Video,
		atom.Noscript, atom.Textarea, atom.Head:
		return true
	case atom.Img: // an image embedded as a data URL
		src := attribute(n, "src")
		return len(src) > 5 && strings.EqualFold(src[:5], "data:")
	}
	return false
}

// attributes returns the attributes to keep, with absolute links.
func (c *cleaner) attributes(all []html.Attribute) []html.Attribute {
	kept := all[:0]
	for _, a := range all {
		if len(a.Val) > maxAttribute {
			continue
		}
		if a.Key == "href" || a.Key == "src" {
			to, err := c.base.Parse(strings.TrimSpace(a.Val))
			if err != nil || to.Scheme == "javascript" || to.Scheme == "data" {
				continue
			}
			a.Val = to.String()
		}
		kept = append(kept, a)
	}
	return kept
}

// text counts the characters of a text node and truncates it at the limit.
func (c *cleaner) text(n *html.Node) {
	for i, r := range n.Data {
		if unicode.IsSpace(r) {
			continue
		}
		if c.chars == 0 {
			n.Data, c.trimmed = n.Data[:i], true
			return
		}
		c.chars--
	}
}
