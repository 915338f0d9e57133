package patch

import (
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/fettle-dev/fettle/core/fault"
)

// leftOut is the last tier: it finds the places at which h fits if a single line of the file is
// left out between two of its old lines. The hunk needs two lines that are not blank, or one and a
// header with place and counts. The left-out line stays in the file; see [hunk.unclear].
//
// There must be only one way to put that line back into the hunk. Among added lines it could be
// before, between or after them, unless these plainly are the new version of the removed lines
// before them, or by their indentation cannot follow the closing bracket, or precede the opening
// one, that was left out. By the header's counts the line must not be a removed one.
func leftOut(h *hunk, base []string, x *index) (candidates, error) {
	texts := h.textLines()
	stated := h.numbered && h.fitsShortAt(base, h.head.oldStart-1)
	if texts == 0 || texts == 1 && !stated {
		return candidates{}, absent(h, base)
	}
	places, err := x.gapped(h.lines)
	if err != nil {
		return candidates{}, err
	}
	if texts == 1 {
		places = slices.DeleteFunc(places, func(p gapPlace) bool { return p.start != h.head.oldStart-1 })
	}
	if len(places) == 0 {
		return candidates{}, absent(h, base)
	}
	c := candidates{gaps: places}
	for _, p := range places {
		c.olds = append(c.olds, int32(p.start))
	}
	return c, nil
}

// unclear refuses h at p if there is more than one way to put the left-out line back into it. after
// reports that the lines that h adds at the gap belong after it.
func (h *hunk) unclear(base []string, p gapPlace) (after bool, refusal *fault.Error) {
	missing := content(base[p.start+p.low])
	g := h.gaps(missing)
	for k := p.low; k <= p.high; k++ { // several if the line equals its neighbours
		sameLine := base[p.start+k] == base[p.start+p.low] // with its ending
		if !g[k].open || g[k].after && p.low < p.high || !sameLine {
			return false, unclearGap(h, base, p.start+p.low)
		}
	}
	return g[p.low].after, nil
}

// resembles reports whether h is stated elsewhere than at start, and all of its old lines occur
// there, in any order.
func (h *hunk) resembles(base []string, start int) bool {
	stated := h.head.oldStart - 1
	if !h.numbered || distance(start, stated) <= 1 {
		return false
	}
	const around = 2
	there := map[string]int{}
	for i := max(0, stated-around); i < min(len(base), stated+h.oldLines()+around); i++ {
		there[content(base[i])]++
	}
	for _, l := range h.lines {
		if l.old() {
			if there[l.text]--; there[l.text] < 0 {
				return false
			}
		}
	}
	return true
}

// gapPlace is a place at which a hunk fits if one line is left out before one of its old lines low
// to high.
type gapPlace struct{ start, low, high int }

// gapped returns every place, in ascending order, at which the old lines fit with one line left out
// between them. There one half of them matches unchanged: the line is left out in the other one, or
// between them.
func (x *index) gapped(lines []line) ([]gapPlace, error) {
	seq := x.sequence(lines, line.old)
	m := len(seq)
	if m < 2 {
		return nil, nil
	}
	half := m / 2
	starts, err := x.places(seq[:half])
	if err != nil {
		return nil, err
	}
	seconds, err := x.places(seq[half:])
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
		before, after := 0, 0 // number of lines of seq that match at the window's beginning, and at its end
		for before < m && window[before] == seq[before] {
			before++
		}
		for after < m && window[m-after] == seq[m-1-after] {
			after++
		}
		if err := x.budget.spend(before+after+2, 0); err != nil {
			return nil, err
		}
		low, high := max(1, m-after), min(m-1, before)
		if low <= high && x.matchesAround(lines, start, low) {
			places = append(places, gapPlace{start, low, high})
		}
	}
	return places, nil
}

// matchesAround reports whether the old lines match the text from line start on with a line left out
// before the gap-th. The caller has compared their ids.
func (x *index) matchesAround(lines []line, start, gap int) bool {
	if x.tier.same == nil {
		return true
	}
	k := 0
	for _, l := range lines {
		if !l.old() {
			continue
		}
		if !x.equal(spot{start: start, gap: gap}.line(k), l.text) {
			return false
		}
		k++
	}
	return true
}

// rivals returns the places at which h fits with a line left out and would change different lines
// than at start, where it fits beyond the first tier.
func (h *hunk) rivals(start int, places []gapPlace) []int32 {
	first, last := h.core() // old lines before the first change and up to the last one
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
	return h.count(func(l line) bool { return l.old() && !isBlank(l.text) })
}

// gap states whether a line of the file may be left out before an old line.
type gap struct {
	open  bool
	after bool // lines that are added there belong after the left-out one
}

// gaps judges the place before each old line of h for the line missing. Nothing is left out before
// the first one.
func (h *hunk) gaps(missing string) []gap {
	olds, news := h.missing(0)
	removal := h.head.counted && olds == 1 && news == 0 // it counts one more removed line
	var gaps []gap
	var removed, added []string // directly before the current line
	wasRemoved := false         // the previous old line
	for i, l := range h.lines {
		if l.op == gitdiff.OpAdd {
			added = append(added, l.text)
			continue
		}
		isRemoved := l.op == gitdiff.OpDelete
		g := gap{open: len(gaps) > 0 && !removal}
		switch {
		case len(added) > 0 && g.open:
			g.after = opens(missing) && len(removed) == 0 && deeper(added, missing)
			g.open = g.after || closes(missing) && deeper(added, missing) || replaces(removed, added, h.besides(i, missing))
		case wasRemoved && isRemoved:
			g.open = g.open && !h.addsAround(i)
		}
		gaps = append(gaps, g)
		if !isRemoved || len(added) > 0 {
			removed, added = nil, nil
		}
		if isRemoved {
			removed = append(removed, l.text)
		}
		wasRemoved = isRemoved
	}
	return gaps
}

// closes and opens report whether a line consists of closing or opening brackets: a line that is
// indented deeper does not directly follow, or precede, it.
func closes(line string) bool { return isBrackets(line, "})],;") }
func opens(line string) bool  { return isBrackets(line, "{([") }

func isBrackets(line, brackets string) bool {
	line = trimmed(line)
	return line != "" && strings.Trim(line, brackets) == "" && strings.ContainsAny(line, "{}()[]")
}

// deeper reports whether all lines that are not blank are indented deeper than other, and one of
// them is not blank.
func deeper(lines []string, other string) bool {
	indent, found := indentOf(other), false
	for _, l := range lines {
		if isBlank(l) {
			continue
		}
		if own := indentOf(l); len(own) <= len(indent) || !strings.HasPrefix(own, indent) {
			return false
		}
		found = true
	}
	return found
}

// addsAround reports whether the run of changed lines around line i of h has added ones.
func (h *hunk) addsAround(i int) bool {
	first, last := i, i
	for first > 0 && h.lines[first-1].op != gitdiff.OpContext {
		first--
	}
	for last < len(h.lines) && h.lines[last].op != gitdiff.OpContext {
		last++
	}
	return slices.ContainsFunc(h.lines[first:last], func(l line) bool { return l.op == gitdiff.OpAdd })
}

// besides returns the lines that an added line before line i of h may replace, in addition to those
// that h removes directly before it: context of h and the left-out line.
func (h *hunk) besides(i int, missing string) []string {
	others := []string{missing}
	for j := max(0, i-6); j < min(len(h.lines), i+6); j++ {
		if h.lines[j].op == gitdiff.OpContext {
			others = append(others, h.lines[j].text)
		}
	}
	return others
}

// replaces reports whether added are plainly the new versions of removed, line by line: they have
// much of their text, and little of that of others.
func replaces(removed, added, others []string) bool {
	if len(removed) != len(added) {
		return false
	}
	for i, text := range added {
		if likeness(removed[i], text) < 0.6 {
			return false
		}
		for j, other := range removed {
			if j != i && likeness(other, text) >= 0.5 {
				return false
			}
		}
		for _, other := range others {
			if likeness(other, text) >= 0.5 {
				return false
			}
		}
	}
	return true
}

// likeness returns the share of the longer of two texts, without outer white space, that is their
// common beginning and end.
func likeness(a, b string) float64 {
	a, b = trimmed(a), trimmed(b)
	long := max(len(a), len(b))
	if long == 0 {
		return 1
	}
	short := min(len(a), len(b))
	first := 0
	for first < short && a[first] == b[first] {
		first++
	}
	last := 0
	for last < short-first && a[len(a)-1-last] == b[len(b)-1-last] {
		last++
	}
	return float64(first+last) / float64(long)
}
