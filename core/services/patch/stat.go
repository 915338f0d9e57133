package patch

import (
	"unicode/utf8"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// Stat counts the lines and characters that a change adds and removes. Chars are runes without line
// endings; a changed line counts as removed and added.
type Stat struct {
	AddedLines, RemovedLines int
	AddedChars, RemovedChars int
}

// Stat returns the line and character counts of c.
func (c *Change) Stat() Stat {
	var s Stat
	for _, f := range c.fragments {
		for _, l := range f.Lines {
			switch l.Op {
			case gitdiff.OpAdd:
				s.AddedLines++
				s.AddedChars += utf8.RuneCountInString(content(l.Line))
			case gitdiff.OpDelete:
				s.RemovedLines++
				s.RemovedChars += utf8.RuneCountInString(content(l.Line))
			}
		}
	}
	return s
}
