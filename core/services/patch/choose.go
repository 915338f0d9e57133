package patch

import (
	"slices"
	"sort"
)

// anchor is a hunk with a single place: what its header states, and how far
// from there it really is.
type anchor struct{ stated, offset int }

// anchors lists the placed hunks that have a usable number, in the order of
// their numbers.
func (l *locator) anchors() []anchor {
	var as []anchor
	for i := range l.hunks {
		h := &l.hunks[i]
		if l.placed[i] && h.changes() && h.numbered {
			stated := h.head.oldStart - 1
			as = append(as, anchor{stated, l.spots[i].start - stated})
		}
	}
	sort.Slice(as, func(i, j int) bool { return as[i].stated < as[j].stated })
	return as
}

// decide takes one of several places for h by the number in its header
// (FS-33).
//
// A number points to the place that is clearly nearest: at most half as far
// away as the next one. It is taken as stated, and shifted by the offset at
// which the hunks before and after h were found, where there are such. All
// that point somewhere must point to the same place. Places where the hunk's
// result stands already count as places too, and if the number points to one
// of them the hunk is refused. The order of the hunks is no evidence, since
// they may come in any (FS-34).
func (l *locator) decide(h *hunk, c candidates, anchors []anchor) (int, error) {
	if !h.numbered {
		return 0, ambiguous(h, c, "states no usable line number")
	}
	stated := h.head.oldStart - 1
	fitsThere := contains(c.olds, stated)
	if !fitsThere && (contains(c.news, stated) || contains(c.news, h.head.newStart-1)) {
		return 0, applied(h, c.news)
	}
	offsets := offsetsFor(stated, anchors, fitsThere)
	sets := [][]int32{c.olds}
	if len(c.tail) > 0 && len(c.tail) < len(c.olds) {
		sets = append(sets, c.tail)
	}
	chosen := -1
	for _, olds := range sets {
		for _, offset := range offsets {
			place, clear := nearest(olds, c.news, stated+offset, h.head.newStart-1+offset)
			if !clear {
				continue
			}
			if place < 0 {
				return 0, applied(h, c.news)
			}
			if chosen >= 0 && chosen != place {
				return 0, ambiguous(h, c, "can be read as pointing to more than one of these")
			}
			chosen = place
		}
	}
	if chosen < 0 {
		return 0, ambiguous(h, c, "does not clearly point to one of these")
	}
	return chosen, nil
}

// offsetsFor returns by how much the number stated may be off, judged by the
// anchors on either side of it. No offset is one of them, unless there is an
// anchor before it, all anchors agree, and the hunk does not fit at the very
// place that is stated.
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

// nearest returns the one of olds that is clearly nearest to want. place is -1
// if one of news is nearer still, measured from want or wantNew.
func nearest(olds, news []int32, want, wantNew int) (place int, clear bool) {
	far := int(^uint(0) >> 2)
	first, second := far, far
	for _, p := range olds {
		switch d := distance(int(p), want); {
		case d < first:
			first, second, place = d, first, int(p)
		case d < second:
			second = d
		}
	}
	done := far
	for _, p := range news {
		done = min(done, distance(int(p), want), distance(int(p), wantNew))
	}
	if done < first {
		return -1, true
	}
	second = min(second, done)
	return place, first < second && 2*first <= second
}

func distance(a, b int) int { return max(a-b, b-a) }
