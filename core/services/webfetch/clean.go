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

// What a document may ask of the converter, some of whose steps take time or
// memory that grows with the square of these.
const (
	maxKept      = 200_000 // nodes
	maxCells     = 20_000  // of all tables, when short rows are filled up
	maxNesting   = 16      // of lists and quotations
	maxAttribute = 2_000   // bytes of an attribute
)

// cleaner prepares a document for the converter.
type cleaner struct {
	base    *url.URL // what links are relative to
	chars   int      // of text that are still kept, white space not counted
	nodes   int      // that are still kept
	cells   int      // of tables that are still kept
	nesting int      // of lists and quotations around the element
	trimmed bool     // something was left out that would have been shown
}

// clean takes out of a document what is no text, and what comes after most
// characters of it; makes its links absolute; and returns its title on one
// line. u is where the document was found.
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

// find returns the first element of a kind outside of other namespaces, or nil.
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

// children cleans all that is below n, which the parser keeps from being
// nested deeply.
func (c *cleaner) children(n *html.Node) {
	for child := n.FirstChild; child != nil; {
		after := child.NextSibling
		switch {
		case child.Type == html.CommentNode || child.Type == html.ElementNode && noText(child):
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

// element cleans an element and what is in it.
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
			if d.Type == html.TextNode { // or it would end its cell
				d.Data = strings.ReplaceAll(d.Data, "|", `\|`)
			}
		}
		return
	}
	c.children(n)
}

// flatten makes an element a mere block.
func flatten(n *html.Node) { n.Data, n.DataAtom = "div", atom.Div }

func tablePart(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Table, atom.Caption, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th:
		return n.Type == html.ElementNode
	}
	return false
}

// size returns how many rows and columns a table has, what is in its cells
// included.
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

// span reads a span; what is none is 1.
func span(value string) int {
	n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 16)
	if err != nil || n == 0 {
		return 1
	}
	return int(n)
}

// noText reports whether an element holds nothing to read.
func noText(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Svg, atom.Canvas, atom.Object, atom.Embed, atom.Iframe, atom.Audio, atom.Video,
		atom.Noscript, atom.Textarea, atom.Head:
		return true
	case atom.Img: // its bytes stand in the page
		src := attribute(n, "src")
		return len(src) > 5 && strings.EqualFold(src[:5], "data:")
	}
	return false
}

// attributes returns those that are kept, with absolute links.
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

// text counts the characters of a text, and cuts it where there are too many.
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
