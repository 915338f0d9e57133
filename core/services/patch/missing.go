package patch

import (
	"slices"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// leftOut is the last tier (FS-69): it looks for the one place where h fits if
// a single line of the file is left out between two of its old lines. The hunk
// needs three lines that are not blank. The line may not lie among removed
// lines, nor where lines are added, since nothing would say on which side of it
// they belong; and it may not be one of the added lines, since then the diff has
// been applied before.
//
// ok is false if there is no such place or if it is not safe; several places
// are an error.
func leftOut(h *hunk, base []string, x *index) (s spot, ok bool, err error) {
	if h.textLines() < 3 {
		return spot{}, false, nil
	}
	places, err := x.gapped(x.sequence(h.lines, line.old))
	if err != nil || len(places) == 0 {
		return spot{}, false, err
	}
	if len(places) > 1 {
		var c candidates
		for _, p := range places {
			c.olds = append(c.olds, int32(p.start))
		}
		return spot{}, false, ambiguous(h, c, "leaves out a line of the file, so that only a single place is safe")
	}
	p := places[0]
	ok = h.gaps().all(p.low, p.high) && !h.addsText(content(base[p.start+p.low]))
	return spot{start: p.start, gap: p.low}, ok, nil
}

// gapPlace is where a sequence fits if one line is left out before one of its
// elements low to high.
type gapPlace struct{ start, low, high int }

// gapped returns every place, in rising order, where seq fits with one line left
// out inside it. There, one half of seq stands as it is: the line is left out in
// the other one, or between them.
func (x *index) gapped(seq []int32) ([]gapPlace, error) {
	m := len(seq)
	if m < 2 {
		return nil, nil
	}
	half := m / 2
	starts, err := x.find(seq[:half])
	if err != nil {
		return nil, err
	}
	seconds, err := x.find(seq[half:])
	if err != nil {
		return nil, err
	}
	starts = slices.Clone(starts)
	for _, p := range seconds {
		starts = append(starts, p-int32(half)-1)
	}
	slices.Sort(starts)
	var places []gapPlace
	for _, s := range slices.Compact(starts) {
		start := int(s)
		if start < 0 || start+m >= len(x.text) {
			continue
		}
		window := x.text[start : start+m+1]
		before, after := 0, 0 // how much of seq stands at the window's beginning, and at its end
		for before < m && window[before] == seq[before] {
			before++
		}
		for after < m && window[m-after] == seq[m-1-after] {
			after++
		}
		if err := x.budget.spend(before+after+2, 0); err != nil {
			return nil, err
		}
		if low, high := max(1, m-after), min(m-1, before); low <= high {
			places = append(places, gapPlace{start, low, high})
		}
	}
	return places, nil
}

// rivals returns those of places, where h fits with a line left out, at which it
// would change other lines than at start, where it fits beyond the first tier.
func (h *hunk) rivals(start int, places []gapPlace) []int32 {
	first, last := h.oldLines(), 0 // old lines before the first change and up to the last one
	k := 0
	for _, l := range h.lines {
		if l.op != gitdiff.OpContext {
			first = min(first, k)
		}
		if l.old() {
			k++
		}
		if l.op != gitdiff.OpContext {
			last = k
		}
	}
	var found []int32
	for _, p := range places {
		sameAfter := p.start == start-1 && p.high <= first
		sameBefore := p.start == start && p.low >= last
		if !sameAfter && !sameBefore {
			found = append(found, int32(p.start))
		}
	}
	return found
}

// textLines counts the old lines that are not blank.
func (h *hunk) textLines() int {
	n := 0
	for _, l := range h.lines {
		if l.old() && !isBlank(l.text) {
			n++
		}
	}
	return n
}

// addsText reports whether h adds a line with this text, outer white space
// aside. Blank lines are no text.
func (h *hunk) addsText(content string) bool {
	return !isBlank(content) && slices.ContainsFunc(h.lines, func(l line) bool {
		return l.op == gitdiff.OpAdd && trimmed(l.text) == trimmed(content)
	})
}

// gapRule tells, for each old line of a hunk but the first, whether a line of
// the file may be left out before it.
type gapRule struct {
	open    []bool
	removed []bool // the old line is removed
}

func (h *hunk) gaps() gapRule {
	var g gapRule
	added := false // since the last old line
	for _, l := range h.lines {
		if !l.old() {
			added = true
			continue
		}
		removed := l.op == gitdiff.OpDelete
		k := len(g.removed)
		g.open = append(g.open, k > 0 && !added && !(removed && g.removed[k-1]))
		g.removed = append(g.removed, removed)
		added = false
	}
	return g
}

// all reports whether a line may be left out before any of the old lines low
// to high. Where it may be several, the left-out line equals its neighbours,
// and none of these may be a removed one.
func (g gapRule) all(low, high int) bool {
	for k := low; k <= high; k++ {
		if !g.open[k] || k < high && g.removed[k] {
			return false
		}
	}
	return true
}
