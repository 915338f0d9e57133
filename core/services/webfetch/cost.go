package webfetch

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	maxNodes      = 1_500_000 // limit of the tree of a page
	maxAttributes = 64        // limit of an element that the parser may copy
	maxCopied     = 100       // limit of such elements that are open at the same time
	adoptionCost  = 25        // nodes that the parser may create at a misplaced end tag
)

// reopened are the elements that the parser reopens in each new block: it copies every one that
// is open then.
var reopened = []atom.Atom{
	atom.A, atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.Nobr, atom.S, atom.Small, atom.Strike, atom.Strong, atom.Tt, atom.U,
}

// tooCostly reports whether the tree of a page may exceed maxNodes. A tree can have far more nodes
// than the text has tags: a page of a few kilobytes can need gigabytes. The count is an upper bound
// and takes one pass.
func tooCostly(page string) bool {
	z := html.NewTokenizer(strings.NewReader(page))
	c := cost{weight: 1}
	for c.nodes <= maxNodes {
		kind := z.Next()
		switch kind {
		case html.ErrorToken:
			return false
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			name, more := z.TagName()
			a := atom.Lookup(name)
			switch {
			case !slices.Contains(reopened, a):
			case kind == html.EndTagToken:
				c.pop(a)
			default:
				attributes := 0
				for more {
					_, _, more = z.TagAttr()
					attributes++
				}
				if attributes > maxAttributes || len(c.open) == maxCopied {
					return true
				}
				c.push(a, 1+attributes)
			}
		}
		c.nodes += c.weight
	}
	return true
}

// cost is an upper bound of the nodes in the tree of a page.
type cost struct {
	nodes  int
	weight int // of the next node, with the copies that may precede it
	open   []copied
}

// copied is an open element that the parser may copy.
type copied struct {
	kind   atom.Atom
	weight int
}

func (c *cost) push(a atom.Atom, weight int) {
	if a == atom.A || a == atom.Nobr { // these do not nest: a new one closes the open one
		c.pop(a)
	}
	c.open = append(c.open, copied{a, weight})
	c.weight += weight
}

func (c *cost) pop(a atom.Atom) {
	at := len(c.open) - 1
	for at >= 0 && c.open[at].kind != a {
		at--
	}
	if at < len(c.open)-1 {
		c.nodes += adoptionCost * c.weight
	}
	if at >= 0 {
		c.weight -= c.open[at].weight
		c.open = slices.Delete(c.open, at, at+1)
	}
}
