package webfetch

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	maxNodes      = 1_500_000 // that a page's tree may have
	maxAttributes = 64        // of an element that the parser may copy
	maxCopied     = 100       // such elements, open at once
	adoptionCost  = 25        // nodes that the parser may make at a misplaced end tag
)

// formatting are the elements that the parser opens again wherever a block
// begins while they are open: each is copied, as often as that happens.
var formatting = []atom.Atom{
	atom.A, atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.Nobr, atom.S, atom.Small, atom.Strike, atom.Strong, atom.Tt, atom.U,
}

// costly reports whether the tree of a page may have more than maxNodes nodes,
// far more than its text has tags: a page of a few kilobytes can ask for
// gigabytes. It is an upper bound, and takes one pass.
func costly(page string) bool {
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
			case !slices.Contains(formatting, a):
			case kind == html.EndTagToken:
				c.end(a)
			default:
				attributes := 0
				for more {
					_, _, more = z.TagAttr()
					attributes++
				}
				if attributes > maxAttributes || len(c.open) == maxCopied {
					return true
				}
				c.start(a, 1+attributes)
			}
		}
		c.nodes += c.weight
	}
	return true
}

// cost counts the nodes that a page's tree may have.
type cost struct {
	nodes  int
	weight int // of one more: itself, and the copies that may come with it
	open   []copied
}

// copied is an open element that the parser may copy.
type copied struct {
	kind   atom.Atom
	weight int
}

func (c *cost) start(a atom.Atom, weight int) {
	if a == atom.A || a == atom.Nobr { // these do not nest: one ends the other
		c.end(a)
	}
	c.open = append(c.open, copied{a, weight})
	c.weight += weight
}

func (c *cost) end(a atom.Atom) {
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
