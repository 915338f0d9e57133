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

// gapped returns every place where seq fits with one line left out inside it.
func (x *index) gapped(seq []int32) ([]gapPlace, error) {
	m, n := len(seq), len(x.text)
	if m < 2 || m >= n {
		return nil, nil
	}
	if err := x.budget.spend(2*(m+n), 0); err != nil {
		return nil, err
	}
	before, after := prefixes(seq, x.text), suffixes(seq, x.text)
	var places []gapPlace
	for start := 0; start+m < n; start++ {
		low, high := max(1, m-int(after[start+m])), min(m-1, int(before[start]))
		if low <= high {
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

// prefixes returns for each position of text how many elements from there on
// equal the beginning of seq (the Z algorithm).
func prefixes(seq, text []int32) []int32 {
	joined := make([]int32, 0, len(seq)+1+len(text))
	joined = append(append(append(joined, seq...), -1), text...)
	z := make([]int32, len(joined))
	for i, left, right := 1, 0, 0; i < len(joined); i++ {
		if i < right {
			z[i] = min(int32(right-i), z[i-left])
		}
		for i+int(z[i]) < len(joined) && joined[z[i]] == joined[i+int(z[i])] {
			z[i]++
		}
		if i+int(z[i]) > right {
			left, right = i, i+int(z[i])
		}
	}
	return z[len(seq)+1:]
}

// suffixes returns for each position of text how many elements up to and with
// it equal the end of seq.
func suffixes(seq, text []int32) []int32 {
	seq, text = slices.Clone(seq), slices.Clone(text)
	slices.Reverse(seq)
	slices.Reverse(text)
	lengths := prefixes(seq, text)
	slices.Reverse(lengths)
	return lengths
}
