package patch

import "strings"

// mark is the byte-order mark as a character.
const mark = "\ufeff"

// hasBOM reports whether the diff has a byte-order mark at the beginning of the first line of a hunk,
// before and after the change. Decoded text has none, while diff programs show that of the file in
// its first line.
func (d *Diff) hasBOM() (before, after bool) {
	for i := range d.hunks {
		if l := d.hunks[i].first(line.old); l != nil {
			before = before || strings.HasPrefix(l.text, mark)
		}
		if l := d.hunks[i].first(line.isNew); l != nil {
			after = after || strings.HasPrefix(l.text, mark)
		}
	}
	return before, after
}

// withoutBOM returns the diff without the marks that hasBOM reports.
func (d *Diff) withoutBOM() *Diff {
	plain := *d
	plain.hunks = make([]hunk, len(d.hunks))
	for i, h := range d.hunks {
		h.lines = append([]line(nil), h.lines...)
		olds, news := h.first(line.old), h.first(line.isNew)
		for _, l := range []*line{olds, news} {
			if l != nil {
				l.text = strings.TrimPrefix(l.text, mark)
			}
		}
		h.lines = dropRepeats(h.lines)
		markEndings(h.lines)
		plain.hunks[i] = h
	}
	return &plain
}

// CorrectMarked is [Correct] for the text of a file that may begin with a byte-order mark, which base
// does not contain. The change applies to from, which is base, or base after a mark if the diff
// removes it.
//
// A mark on both sides of the diff is ignored, because it stays. A mark only on the new side is text
// at the beginning of the file.
func CorrectMarked(base string, marked bool, d *Diff) (from string, c *Change, err error) {
	before, after := d.hasBOM()
	switch {
	case !before || strings.Contains(base, mark):
		if marked && after {
			d = d.withoutBOM()
		}
	case marked && !after:
		base = mark + base
	default:
		d = d.withoutBOM()
	}
	c, err = Correct(base, d)
	return base, c, err
}

// first returns the first line that pick selects, nil if there is none.
func (h *hunk) first(pick func(line) bool) *line {
	for i := range h.lines {
		if pick(h.lines[i]) {
			return &h.lines[i]
		}
	}
	return nil
}
