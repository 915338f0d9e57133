package markdown

import (
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/util"
)

// references are the link definitions of the source so far, by label. The first
// definition of a label wins.
type references struct {
	earlier *references // unchanged earlier ones; nil: none
	own     map[string]parser.Reference
}

func (r *references) lookup(label string) (parser.Reference, bool) {
	for ; r != nil; r = r.earlier {
		if found, ok := r.own[label]; ok {
			return found, true
		}
	}
	return nil, false
}

// add stores the definitions of a block.
func (r *references) add(defined []parser.Reference) {
	for _, reference := range defined {
		label := util.ToLinkReference(reference.Label())
		if _, known := r.lookup(label); known {
			continue
		}
		if r.own == nil {
			r.own = map[string]parser.Reference{}
		}
		r.own[label] = reference
	}
}

// blockContext is the parser context of a block.
type blockContext struct {
	parser.Context
	references *references
}

// Reference returns the definition of a label.
func (c blockContext) Reference(label string) (parser.Reference, bool) {
	if found, ok := c.references.lookup(label); ok {
		return found, true
	}
	return c.Context.Reference(label)
}
