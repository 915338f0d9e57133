package patch

import (
	"cmp"
	"slices"
	"sort"

	"github.com/fettle-dev/fettle/core/fault"
)

// choose selects one place for every hunk.
//
// Places that no complete placement uses are dropped first. The stated numbers decide the remaining
// cases, one hunk at a time, because each decision can leave other hunks a single place.
func (l *locator) choose() ([]spot, error) {
	orders := l.orders()
	nearest := make([]bool, len(l.hunks))
	for {
		l.prune(orders)
		anchors := l.anchors()
		var open *fault.Error
		decided := false
		for i := range l.hunks {
			c := &l.found[i]
			if len(c.olds) == 1 {
				continue
			}
			k, refusal := l.decide(&l.hunks[i], c, anchors)
			if refusal == nil {
				c.keep(k, k+1)
				nearest[i], decided = true, true
				break
			}
			if open == nil {
				open = refusal
			}
		}
		if decided {
			continue
		}
		if open != nil {
			return nil, open
		}
		break
	}
	spots := make([]spot, len(l.hunks))
	for i := range l.hunks {
		if refusal := l.doubt(&l.hunks[i], &l.found[i]); refusal != nil {
			return nil, refusal
		}
		spots[i] = l.found[i].spot(0)
		if gaps := l.found[i].gaps; gaps != nil {
			spots[i].after, _ = l.hunks[i].unclear(l.base, gaps[0])
		}
		spots[i].nearest = nearest[i] && spots[i].start != l.hunks[i].head.oldStart-1
	}
	return spots, nil
}

// orders returns the possible orders of the hunks in the file: that of the diff, and that of the
// stated numbers if each hunk has its own.
func (l *locator) orders() [][]int {
	var byDiff []int
	numbered := true
	stated := map[int]bool{}
	for i := range l.hunks {
		if l.inert[i] {
			continue
		}
		byDiff = append(byDiff, i)
		start := l.hunks[i].head.oldStart
		numbered = numbered && l.hunks[i].numbered && !stated[start]
		stated[start] = true
	}
	byNumber := slices.Clone(byDiff)
	slices.SortStableFunc(byNumber, func(a, b int) int {
		return cmp.Compare(l.hunks[a].head.oldStart, l.hunks[b].head.oldStart)
	})
	if !numbered || slices.Equal(byDiff, byNumber) {
		return [][]int{byDiff}
	}
	return [][]int{byDiff, byNumber}
}

// window is a range of a hunk's candidates.
type window struct{ low, high int }

// prune drops the places that no placement in one of orders uses. If there is no such placement it
// drops nothing: the hunks may have any order.
//
// The context of neighbours may overlap. If that leaves several placements, those are preferred in
// which no hunk has context that another one changes.
func (l *locator) prune(orders [][]int) {
	for _, strict := range []bool{true, false} {
		var all []map[int]window
		for _, order := range orders {
			if w, ok := l.feasible(order, strict); ok {
				all = append(all, w)
			}
		}
		if len(all) == 0 {
			continue
		}
		for i, w := range all[0] {
			for _, other := range all[1:] {
				w.low, w.high = min(w.low, other[i].low), max(w.high, other[i].high)
			}
			l.found[i].keep(w.low, w.high)
		}
		return
	}
}

// feasible returns for each hunk of order the range of its places that take part in a placement in
// which each hunk follows the previous one. ok is false if there is none.
func (l *locator) feasible(order []int, strict bool) (windows map[int]window, ok bool) {
	windows = make(map[int]window, len(order))
	startMin, coreMin := 0, 0 // first lines at which the next hunk, and its change, may begin
	for _, i := range order {
		c, h := &l.found[i], &l.hunks[i]
		begin, end := h.core()
		low := sort.Search(len(c.olds), func(k int) bool {
			s := c.spot(k)
			return (!strict || s.start >= startMin) && s.start+begin+gapped(s) >= coreMin
		})
		if low == len(c.olds) {
			return nil, false
		}
		windows[i] = window{low, len(c.olds)}
		s := c.spot(low)
		startMin, coreMin = s.start+end, s.start+end
		if strict {
			coreMin = s.start + h.oldLines()
		}
	}
	endMax, coreMax := len(l.base), len(l.base) // last lines at which the previous hunk, and its change, must end
	for _, i := range slices.Backward(order) {
		c, h := &l.found[i], &l.hunks[i]
		begin, end := h.core()
		w := windows[i]
		w.high = sort.Search(len(c.olds), func(k int) bool {
			s := c.spot(k)
			return strict && s.start+h.oldLines() > endMax || s.start+end > coreMax
		})
		if w.low >= w.high {
			return nil, false
		}
		windows[i] = w
		s := c.spot(w.high - 1)
		coreMax = s.start + begin + gapped(s)
		endMax = coreMax
		if strict {
			coreMax = s.start
		}
	}
	return windows, true
}

// gapped returns the number of lines by which the change of a hunk at s may move down.
func gapped(s spot) int { return min(s.gap, 1) }

// anchor is a hunk with a single place: its stated line, and its distance from there.
type anchor struct{ stated, offset int }

// anchors returns the placed hunks with a valid number, in the order of their numbers.
func (l *locator) anchors() []anchor {
	var as []anchor
	for i := range l.hunks {
		h := &l.hunks[i]
		if len(l.found[i].olds) == 1 && !l.inert[i] && h.numbered {
			stated := h.head.oldStart - 1
			as = append(as, anchor{stated, int(l.found[i].olds[0]) - stated})
		}
	}
	sort.Slice(as, func(i, j int) bool { return as[i].stated < as[j].stated })
	return as
}

// decide selects one of several places for h by the number in its header, and returns its index.
//
// A number selects the place that is clearly nearest. It is used as stated, and shifted by the
// offsets of the previous and the next hunk, if there are any. All of them that select a place must
// select the same one.
func (l *locator) decide(h *hunk, c *candidates, anchors []anchor) (int, *fault.Error) {
	switch {
	case c.gaps != nil:
		return 0, ambiguous(h, c, "leaves out a line of the file, so that only a single place is safe")
	case c.tier > 0:
		return 0, ambiguous(h, c, "is not exactly that of the file, so that only a single place is safe")
	case len(h.anchors) > 0:
		return 0, ambiguous(h, c, "has no anchor that tells these apart")
	case !h.numbered && h.section:
		return 0, ambiguous(h, c, "has no anchor")
	case !h.numbered:
		return 0, ambiguous(h, c, "states no valid line number")
	}
	stated := h.head.oldStart - 1
	sets := [][]int32{c.olds}
	tail := slices.DeleteFunc(slices.Clone(c.tail), func(p int32) bool { return !contains(c.olds, int(p)) })
	if len(tail) > 0 && len(tail) < len(c.olds) {
		sets = append(sets, tail)
	}
	chosen := -1
	for _, olds := range sets {
		for _, offset := range offsetsFor(stated, anchors, contains(c.olds, stated)) {
			place, clear := nearest(olds, stated+offset)
			if !clear {
				continue
			}
			if chosen >= 0 && chosen != place {
				return 0, ambiguous(h, c, "can be read as pointing to more than one of these")
			}
			chosen = place
		}
	}
	k, ok := slices.BinarySearch(c.olds, int32(chosen))
	if !ok {
		return 0, ambiguous(h, c, "does not clearly point to one of these")
	}
	return k, nil
}

// doubt refuses the only place of h if the hunk can be read in a second way.
func (l *locator) doubt(h *hunk, c *candidates) *fault.Error {
	switch {
	case l.inert[h.number-1]:
		return nil
	case c.gaps != nil && h.resembles(l.base, int(c.olds[0])):
		return ambiguous(h, c, "leaves out a line of the file there, while its lines are in a different order at the stated line")
	case c.gaps != nil:
		_, refusal := h.unclear(l.base, c.gaps[0])
		return refusal
	}
	start := int(c.olds[0])
	if exact := c.tier == 0 && h.numbered && start == h.head.oldStart-1; exact && h.insertedAt(l.base, start) {
		return ambiguous(h, &candidates{olds: c.olds, news: c.olds}, "may have been applied already")
	} else if !exact && len(c.over) > 0 {
		return ambiguous(h, &candidates{olds: c.olds, news: c.over}, "may have been applied already")
	}
	if c.tier > 0 {
		if h.numbered && h.countsHold && start == h.head.oldStart-1 &&
			len(c.news) == len(apart(c.news, h.count(line.isNew), c.olds, h.oldLines())) {
			return nil // it fits where it is stated, and the second reading is elsewhere
		}
		if len(c.news) > 0 {
			return ambiguous(h, c, "is not exactly that of the file, so that only a single place is safe")
		}
		x := l.indexes[c.tier]
		places, err := x.gapped(h.lines)
		if err != nil {
			return tooRepetitive(h)
		}
		if rivals := h.rivals(start, places); len(rivals) > 0 {
			both := &candidates{olds: append(slices.Clone(c.olds), rivals...)}
			return ambiguous(h, both, "is not exactly that of the file, and may leave out a line of it")
		}
		return nil
	}
	if !h.numbered {
		return nil
	}
	if l.looselyStated(h, start) {
		both := &candidates{olds: []int32{int32(start), int32(h.head.oldStart - 1)}}
		slices.Sort(both.olds)
		return ambiguous(h, both, "matches the file at one of them, but not exactly, which is the one that its header states")
	}
	for _, n := range c.news {
		away := min(distance(int(n), h.head.oldStart-1), distance(int(n), h.head.newStart-1))
		if away < distance(start, h.head.oldStart-1) {
			return ambiguous(h, c, "states a line number nearer to the latter")
		}
	}
	return nil
}

// looselyStated reports whether h, which fits exactly at start, also fits its stated line, but not
// exactly. The header is ignored if its offset is that of another hunk.
func (l *locator) looselyStated(h *hunk, start int) bool {
	stated := h.head.oldStart - 1
	if start == stated || h.fitsAt(l.base, stated) {
		return false
	}
	for i := range l.hunks {
		other := &l.hunks[i]
		if other != h && other.numbered && len(l.found[i].olds) > 0 && int(l.found[i].olds[0])-(other.head.oldStart-1) == start-stated {
			return false
		}
	}
	return h.fitsLooselyAt(l.base, stated) || h.fitsShortAt(l.base, stated)
}

// offsetsFor returns the possible offsets of the number stated, from the anchors on either side of
// it. They include 0, unless there is an anchor before it, all anchors agree, and the hunk does not
// fit the stated line.
func offsetsFor(stated int, anchors []anchor, fitsThere bool) []int {
	next := sort.Search(len(anchors), func(i int) bool { return anchors[i].stated > stated })
	differ := slices.ContainsFunc(anchors, func(a anchor) bool { return a.offset != anchors[0].offset })
	var offsets []int
	if next == 0 || differ || fitsThere {
		offsets = append(offsets, 0)
	}
	for _, i := range []int{next - 1, next} {
		if i >= 0 && i < len(anchors) {
			offsets = append(offsets, anchors[i].offset)
		}
	}
	return offsets
}

// nearest returns the place that is clearly nearest to want: at most half as far as the next one,
// or at most two thirds as far and ten lines nearer.
func nearest(places []int32, want int) (place int, clear bool) {
	const far = int(^uint(0) >> 2)
	first, second := far, far
	for _, p := range places {
		switch d := distance(int(p), want); {
		case d < first:
			first, second, place = d, first, int(p)
		case d < second:
			second = d
		}
	}
	return place, first < second && (2*first <= second || 3*first <= 2*second && second-first >= 10)
}

func distance(a, b int) int { return max(a-b, b-a) }
