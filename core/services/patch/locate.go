package patch

import (
	"slices"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// spot is the place of a hunk's old lines in the base.
type spot struct {
	start   int  // 0-based line of the hunk's first old line
	gap     int  // old lines from this one on are one line further down; 0: none
	after   bool // lines added at the gap belong after the line that was left out there
	tier    int  // index into tiers
	nearest bool // one of several places, selected by the stated number
}

// line returns the base line of the hunk's k-th old line, both 0-based.
func (s spot) line(k int) int {
	if s.gap > 0 && k >= s.gap {
		k++
	}
	return s.start + k
}

// candidates are the places of one hunk in the first tier in which it has any.
type candidates struct {
	tier int
	olds []int32    // places of its old lines, ascending
	gaps []gapPlace // the same as olds for hunks with a left-out line; nil: none is left out
	over []int32    // places of its result that overlap one of olds, which the hunk would leave unchanged
	tail []int32    // the olds that the hunk's trailing empty lines fit too
	news []int32    // places of its result, disjoint from all of olds
}

func (c *candidates) spot(i int) spot {
	s := spot{start: int(c.olds[i]), tier: c.tier}
	if c.gaps != nil {
		s.gap = c.gaps[i].low
	}
	return s
}

// keep drops all places except those in [low, high).
func (c *candidates) keep(low, high int) {
	c.olds = c.olds[low:high]
	if c.gaps != nil {
		c.gaps = c.gaps[low:high]
	}
}

// locator finds a spot for every hunk of a diff.
type locator struct {
	base    []string
	hunks   []hunk
	budget  budget
	indexes [len(tiers)]*index
	found   []candidates // by hunk; no olds: not found yet
	applied [][]int32    // places of the result of a hunk without a place; by hunk
	inert   []bool       // the hunk changes nothing: only its presence matters
}

// locate places every hunk, or none.
func locate(base []string, hunks []hunk) ([]spot, error) {
	if spots, ok := whereStated(base, hunks); ok {
		return spots, nil
	}
	l := &locator{
		base: base, hunks: hunks, budget: budget{maxSteps, maxPlaces},
		found: make([]candidates, len(hunks)), applied: make([][]int32, len(hunks)), inert: make([]bool, len(hunks)),
	}
	for i := range hunks {
		if hunks[i].appends() {
			l.found[i].olds = []int32{int32(len(base))}
		}
	}
	if err := l.search(); err != nil {
		return nil, err
	}
	if err := l.narrow(); err != nil {
		return nil, err
	}
	return l.choose()
}

// whereStated returns the stated places if all hunks fit there exactly and no two of them change
// the same lines.
func whereStated(base []string, hunks []hunk) ([]spot, bool) {
	spots := make([]spot, len(hunks))
	for i := range hunks {
		h := &hunks[i]
		at := h.head.oldStart - 1
		if len(h.anchors) > 0 || h.atEnd || !h.numbered && !(h.head.placed && h.countsHold) || at < 0 || !h.fitsAt(base, at) || h.insertedAt(base, at) {
			return nil, false
		}
		spots[i] = spot{start: at}
	}
	order := make([]int, 0, len(hunks))
	for i := range hunks {
		if hunks[i].changes() {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return spots[a].start - spots[b].start })
	for k := 1; k < len(order); k++ {
		a, b := order[k-1], order[k]
		_, end := hunks[a].core()
		begin, bEnd := hunks[b].core()
		end, begin, bEnd = end+spots[a].start, begin+spots[b].start, bEnd+spots[b].start
		if begin < end || begin == end && begin == bEnd && !hunks[a].removes() {
			return nil, false
		}
	}
	return spots, true
}

// fitsAt reports whether the old lines of h match the base from line at on.
func (h *hunk) fitsAt(base []string, at int) bool {
	for _, l := range h.lines {
		if !l.old() {
			continue
		}
		if at >= len(base) || content(base[at]) != l.text {
			return false
		}
		at++
	}
	return true
}

// fitsLooselyAt reports whether the old lines of h match the base from line at on in the last
// comparing tier.
func (h *hunk) fitsLooselyAt(base []string, at int) bool {
	k := at
	for _, l := range h.lines {
		if !l.old() {
			continue
		}
		if k < 0 || k >= len(base) || !tiers[lookalikeTier].equal(content(base[k]), l.text) {
			return false
		}
		k++
	}
	return checkIndent(h, spot{start: at}, base) == nil
}

// fitsShortAt reports whether the header of h counts one more line of context than h has, and its
// old lines match the base from line at on with one line between two of them left out.
func (h *hunk) fitsShortAt(base []string, at int) bool {
	olds, news := h.missing(0)
	texts := h.texts(line.old)
	if !h.head.counted || olds != 1 || news != 1 || at < 0 || at+len(texts) >= len(base) {
		return false
	}
	k := 0
	for k < len(texts) && content(base[at+k]) == texts[k] {
		k++
	}
	return k > 0 && k < len(texts) && slices.EqualFunc(texts[k:], base[at+k+1:at+len(texts)+1], func(a, b string) bool { return a == content(b) })
}

// insertedAt reports whether h only adds lines before or after its old lines, and these are in the
// base already, next to the old lines from line at on. A diff program creates such a hunk only at
// the beginning or the end of a file, where no line can be already.
func (h *hunk) insertedAt(base []string, at int) bool {
	first, last := h.lines[0].op, h.lines[len(h.lines)-1].op
	if first != gitdiff.OpAdd && last != gitdiff.OpAdd {
		return false
	}
	olds, news := h.texts(line.old), h.texts(line.isNew)
	more := len(news) - len(olds)
	stands := func(at int) bool {
		return at >= 0 && at+len(news) <= len(base) && slices.EqualFunc(news, base[at:at+len(news)], func(a, b string) bool { return a == content(b) })
	}
	return more > 0 &&
		(last == gitdiff.OpAdd && slices.Equal(news[:len(olds)], olds) && stands(at) ||
			first == gitdiff.OpAdd && slices.Equal(news[more:], olds) && stands(at-more))
}

// search fills in the candidates of every hunk.
func (l *locator) search() error {
	for t := range tiers {
		var waiting []*hunk
		for i := range l.hunks {
			if len(l.found[i].olds) == 0 {
				waiting = append(waiting, &l.hunks[i])
			}
		}
		if len(waiting) == 0 || t == lookalikeTier && l.isASCII() {
			break
		}
		x := newIndex(l.base, tiers[t], waiting, &l.budget)
		l.indexes[t] = x
		for _, h := range waiting {
			if err := l.try(h, t, x); err != nil {
				return l.budgetError(err, h)
			}
		}
	}
	for i := range l.hunks {
		h := &l.hunks[i]
		switch {
		case h.appends():
			continue
		case len(l.found[i].olds) > 0:
			// A place with inconsistent indentation does not count if the hunk fits exactly except
			// for one line.
			if l.torn(i) {
				if c, err := leftOut(h, l.base, l.indexes[0]); err == nil {
					l.found[i] = c
				}
			}
			continue
		case len(l.applied[i]) > 0:
			return applied(h, l.applied[i])
		}
		if at := l.resultAtStated(h, l.indexes[0]); len(at) > 0 {
			return applied(h, at)
		}
		c, err := leftOut(h, l.base, l.indexes[0])
		if err != nil {
			return l.budgetError(err, h)
		}
		l.found[i] = c
	}
	return nil
}

// torn reports whether hunk i fits only with a different indentation, and its added lines would not
// have the file's.
func (l *locator) torn(i int) bool {
	c := &l.found[i]
	if c.tier < outerTier || l.inert[i] {
		return false
	}
	for k := range c.olds {
		if checkIndent(&l.hunks[i], c.spot(k), l.base) == nil {
			return false
		}
	}
	return true
}

// isASCII reports whether neither base nor diff can contain look-alikes.
func (l *locator) isASCII() bool {
	for _, text := range l.base {
		if !isASCII(text) {
			return false
		}
	}
	return !slices.ContainsFunc(l.hunks, func(h hunk) bool {
		return slices.ContainsFunc(h.lines, func(l line) bool { return !isASCII(l.text) })
	})
}

// budgetError turns an exhausted budget into an error about h.
func (l *locator) budgetError(err error, h *hunk) error {
	if err != errTooRepetitive {
		return err
	}
	return tooRepetitive(h)
}

// try searches for h in one tier.
func (l *locator) try(h *hunk, t int, x *index) error {
	i := h.number - 1
	olds, err := x.find(h.lines, line.old)
	if err != nil {
		return err
	}
	if h.changes() && !h.alters() {
		// It can only remove white space from the file's lines. If these have none, it has no
		// effect.
		strips := l.stripped(h, olds)
		switch {
		case len(olds) == 0 || t > trailingTier:
		case t < trailingTier:
			return nil
		case len(strips) > 0:
			olds = strips
		default:
			l.inert[i] = true
		}
	}
	l.inert[i] = l.inert[i] || !h.changes()
	if l.inert[i] {
		if len(olds) > 0 {
			l.found[i] = candidates{tier: t, olds: olds[:1]}
		}
		return nil
	}
	news, over, err := l.resultPlaces(h, t, x, olds)
	if err != nil {
		return err
	}
	if len(olds) == 0 {
		if l.applied[i] == nil {
			l.applied[i] = news
		}
		return nil
	}
	l.found[i] = candidates{tier: t, olds: olds, news: news, over: over}
	if t == 0 {
		l.found[i].tail = l.withTail(h, olds)
	}
	return nil
}

// stripped returns the places at which a line that h removes and adds again differs from the
// file's.
func (l *locator) stripped(h *hunk, places []int32) []int32 {
	var found []int32
	for _, p := range places {
		at := int(p)
		for _, line := range h.lines {
			if line.again && content(l.base[at]) != line.text {
				found = append(found, p)
				break
			}
			if line.old() {
				at++
			}
		}
	}
	return found
}

// resultPlaces returns the places at which the result of h already occurs: signs that the diff has been
// applied. Those in over share lines with olds, and h adds more lines than it removes, so that the
// old lines can occur before and after. Others that share lines with olds count only at the line
// that the header of h states, or, beyond the first tier, if that text matches exactly. If the new
// side of h is weak evidence, because it has no context or only removes its own end, only the
// stated place counts.
func (l *locator) resultPlaces(h *hunk, t int, x *index, olds []int32) (news, over []int32, err error) {
	if slices.Equal(x.sequence(h.lines, line.isNew), x.sequence(h.lines, line.old)) {
		return nil, nil, nil // only white space, an ending or the final newline changes
	}
	length, oldLength := h.count(line.isNew), h.oldLines()
	if h.isEvidence() || length > oldLength && h.hasNewText() || t > 0 && len(olds) > 0 && h.adds() {
		all, err := x.find(h.lines, line.isNew)
		if err != nil {
			return nil, nil, err
		}
		news = apart(all, length, olds, oldLength)
		if length > oldLength {
			over = slices.DeleteFunc(all, func(p int32) bool { return contains(news, int(p)) })
		}
		if !h.isEvidence() && t == 0 {
			news = nil
		}
		if t > 0 {
			exact, err := l.indexes[0].find(h.lines, line.isNew)
			if err != nil {
				return nil, nil, err
			}
			news = append(news, exact...)
		}
	}
	if len(olds) > 0 && !contains(olds, h.head.oldStart-1) {
		for _, n := range l.resultAtStated(h, x) {
			if !contains(olds, int(n)) || h.adds() { // otherwise the remaining lines are there anyway
				news = append(news, n)
			}
		}
	}
	slices.Sort(news)
	return slices.Compact(news), over, nil
}

// resultAtStated returns the stated places at which the result of h occurs.
func (l *locator) resultAtStated(h *hunk, x *index) []int32 {
	var found []int32
	if !h.numbered || h.count(line.isNew) == 0 {
		return nil
	}
	for _, n := range []int{h.head.oldStart - 1, h.head.newStart - 1} {
		if n >= 0 && x.matchesAt(h.lines, line.isNew, n) {
			found = append(found, int32(n))
		}
	}
	return slices.Compact(found)
}

// apart returns the places, runs of n lines, that share no line with the runs of m lines at others.
// Both are ascending.
func apart(places []int32, n int, others []int32, m int) []int32 {
	var found []int32
	k := 0
	for _, p := range places {
		for k < len(others) && int(others[k])+m <= int(p) {
			k++
		}
		if k == len(others) || int(others[k]) >= int(p)+n {
			found = append(found, p)
		}
	}
	return found
}

func contains(places []int32, n int) bool {
	_, ok := slices.BinarySearch(places, int32(n))
	return ok
}

// withTail returns the olds that are followed by the hunk's trailing empty lines.
func (l *locator) withTail(h *hunk, olds []int32) []int32 {
	if h.tail == 0 {
		return nil
	}
	length := h.oldLines()
	var found []int32
	for _, p := range olds {
		i := 0
		for at := int(p) + length; i < h.tail && at+i < len(l.base) && content(l.base[at+i]) == ""; i++ {
		}
		if i == h.tail {
			found = append(found, p)
		}
	}
	return found
}
