package patch

import "github.com/bluekeyes/go-gitdiff/gitdiff"

// Edit is one place of a [Change]: lines [Start, End) of the base text, 0-based, become Lines, each
// with its ending.
type Edit struct {
	Start, End int
	Lines      []string
}

// Edits returns the places that c changes, in order and disjoint.
func (c *Change) Edits() []Edit {
	var edits []Edit
	for _, f := range c.fragments {
		at := int(f.OldPosition)
		if f.OldLines > 0 {
			at--
		}
		open := false // the last edit continues
		for _, l := range f.Lines {
			if l.Op == gitdiff.OpContext {
				at++
				open = false
				continue
			}
			if !open {
				edits = append(edits, Edit{Start: at, End: at})
				open = true
			}
			e := &edits[len(edits)-1]
			if l.Op == gitdiff.OpDelete {
				at++
				e.End = at
			} else {
				e.Lines = append(e.Lines, l.Line)
			}
		}
	}
	return edits
}
