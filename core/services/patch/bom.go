package patch

import "strings"

// mark is the byte-order mark as a character.
const mark = "\ufeff"

// HasBOM reports whether the diff has a byte-order mark at the beginning of the first line of a hunk,
// before and after the change. Decoded text has none, while diff programs show that of the file in
// its first line.
func (d *Diff) HasBOM() (before, after bool) {
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

// WithoutBOM returns the diff without the marks that [Diff.HasBOM] reports.
func (d *Diff) WithoutBOM() *Diff {
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

// first returns the first line that pick selects, nil if there is none.
func (h *hunk) first(pick func(line) bool) *line {
	for i := range h.lines {
		if pick(h.lines[i]) {
			return &h.lines[i]
		}
	}
	return nil
}
