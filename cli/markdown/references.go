package markdown

import (
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/util"
)

// references are the links that a source has defined so far, by their labels. An
// earlier definition goes before a later one.
type references struct {
	earlier *references // that are not changed; nil: none
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

// add keeps the definitions of a block.
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

// blockContext is what the parser of a block knows.
type blockContext struct {
	parser.Context
	references *references
}

// Reference returns what a label stands for.
func (c blockContext) Reference(label string) (parser.Reference, bool) {
	if found, ok := c.references.lookup(label); ok {
		return found, true
	}
	return c.Context.Reference(label)
}
