package patch

import (
	"slices"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// leftOut is the last tier (FS-69): it looks for the one place where h fits if
// a single line of the file is left out between two of its old lines. The
// hunk needs three lines that are not blank. The line may not lie among removed lines, nor
// where lines are added, since nothing would say on which side of it they
// belong; and it may not be one of the added lines, since then the
// diff has been applied before.
//
// ok is false if there is no such place or if it is not safe; several places
// are an error.
func leftOut(h *hunk, base []string, x *index) (s spot, ok bool, err error) {
	seq := x.sequence(h.lines, line.old)
	if m := len(seq); m < 3 || m+1 > len(base) || h.textLines() < 3 {
		return spot{}, false, nil
	}
	if err := x.budget.spend(2*(len(seq)+len(base)), 0); err != nil {
		return spot{}, false, err
	}
	before := prefixes(seq, x.text)
	after := suffixes(seq, x.text)
	allowed := h.gaps()
	m := len(seq)
	var places []int32
	for start := 0; start+m < len(base); start++ {
		low := max(1, m-int(after[start+m]))
		high := min(m-1, int(before[start]))
		if low > high {
			continue
		}
		places = append(places, int32(start))
		s = spot{start: start, gap: low}
		ok = allowed.all(low, high) && !h.addsText(content(base[start+low]))
	}
	if len(places) > 1 {
		return spot{}, false, ambiguous(h, candidates{olds: places}, "leaves out a line of the file, so that only a single place is safe")
	}
	return s, ok, nil
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
