package patch

import (
	"slices"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// spot is where a hunk's old lines stand in the base.
type spot struct {
	start int // 0-based line of the hunk's first old line
	gap   int // old lines from this one on stand one line further down (FS-69); 0: none
	tier  int // index into tiers
}

// line returns the base line of the hunk's k-th old line, both 0-based.
func (s spot) line(k int) int {
	if s.gap > 0 && k >= s.gap {
		k++
	}
	return s.start + k
}

// candidates are the places of a hunk that fits exactly, but perhaps in
// several places.
type candidates struct {
	olds []int32 // where its old lines stand
	tail []int32 // those of olds that the hunk's trailing empty lines fit too
	news []int32 // where the lines that it would produce stand already
}

// locator finds a spot for every hunk of a diff.
type locator struct {
	base   []string
	hunks  []hunk
	budget budget
	spots  []spot
	placed []bool // spots[i] holds
	open   map[int]candidates
}

// locate places every hunk, or none (FS-31, FS-33, FS-36, FS-69).
func locate(base []string, hunks []hunk) ([]spot, error) {
	l := &locator{
		base: base, hunks: hunks,
		budget: budget{maxSteps, maxPlaces},
		spots:  make([]spot, len(hunks)), placed: make([]bool, len(hunks)),
		open: map[int]candidates{},
	}
	if err := l.search(); err != nil {
		return nil, err
	}
	anchors := l.anchors()
	for i := range hunks {
		if c, ok := l.open[i]; ok {
			start, err := l.decide(&hunks[i], c, anchors)
			if err != nil {
				return nil, err
			}
			l.spots[i] = spot{start: start}
		}
	}
	return l.spots, nil
}

// search runs the tiers. Afterwards every hunk is placed or open.
func (l *locator) search() error {
	var exact *index
	for t := range tiers {
		var waiting []*hunk
		for i := range l.hunks {
			if _, open := l.open[i]; !open && !l.placed[i] {
				waiting = append(waiting, &l.hunks[i])
			}
		}
		if len(waiting) == 0 {
			return nil
		}
		x := newIndex(l.base, tiers[t].fold, waiting, &l.budget)
		if t == 0 {
			exact = x
		}
		for _, h := range waiting {
			if err := l.try(h, t, x); err != nil {
				return l.explained(err, h)
			}
		}
	}
	for i := range l.hunks {
		h := &l.hunks[i]
		if _, open := l.open[i]; open || l.placed[i] {
			continue
		}
		s, ok, err := leftOut(h, l.base, exact)
		if err != nil {
			return l.explained(err, h)
		}
		if !ok {
			return absent(h, l.base)
		}
		l.place(h, s)
	}
	return nil
}

func (l *locator) place(h *hunk, s spot) {
	l.spots[h.number-1], l.placed[h.number-1] = s, true
}

// explained turns an exhausted budget into an error about h.
func (l *locator) explained(err error, h *hunk) error {
	if err != errTooRepetitive {
		return err
	}
	return tooRepetitive(h)
}

// try looks for h in one tier.
func (l *locator) try(h *hunk, t int, x *index) error {
	olds, err := x.find(x.sequence(h.lines, line.old))
	if err != nil {
		return err
	}
	if !h.changes() {
		// Only its presence matters; which of several places makes no difference.
		if len(olds) > 0 {
			l.place(h, spot{start: int(olds[0]), tier: t})
		}
		return nil
	}
	news, err := l.done(h, t, x, olds)
	if err != nil {
		return err
	}
	switch {
	case len(olds) == 0 && len(news) == 0:
	case len(olds) == 0:
		return applied(h, news)
	case len(olds) == 1 && len(news) == 0:
		if t > 0 {
			gapped, err := x.gapped(x.sequence(h.lines, line.old))
			if err != nil {
				return err
			}
			if rivals := h.rivals(int(olds[0]), gapped); len(rivals) > 0 {
				return ambiguous(h, candidates{olds: append(olds, rivals...)}, "is not exactly that of the file, and may leave out a line of it")
			}
		}
		l.place(h, spot{start: int(olds[0]), tier: t})
	case t == 0:
		l.open[h.number-1] = candidates{olds: olds, tail: l.withTail(h, olds), news: news}
	default:
		return ambiguous(h, candidates{olds: olds, news: news}, "is not exactly that of the file, so that only a single place is safe")
	}
	return nil
}

// done returns the places where the text that h would produce stands already:
// signs that the diff has been applied. In the first tier, a hunk whose new side
// is little evidence, because it has no context or only cuts its own end off,
// counts only where its header states that it begins.
func (l *locator) done(h *hunk, t int, x *index, olds []int32) ([]int32, error) {
	news := x.sequence(h.lines, func(l line) bool { return l.op != gitdiff.OpDelete })
	if slices.Equal(news, x.sequence(h.lines, line.old)) {
		return nil, nil // only the final newline changes
	}
	if h.telling() || t > 0 && len(olds) > 0 && h.adds() {
		return x.find(news)
	}
	if len(olds) == 0 || len(news) == 0 || !h.numbered {
		return nil, nil
	}
	var found []int32
	for _, n := range []int{h.head.oldStart - 1, h.head.newStart - 1} {
		trivial := contains(olds, n) && !h.adds() // what is left is there anyway
		if n < 0 || n+len(news) > len(x.text) || trivial || contains(found, n) {
			continue
		}
		i := 0
		for i < len(news) && x.text[n+i] == news[i] {
			i++
		}
		if i == len(news) {
			found = append(found, int32(n))
		}
	}
	return found, nil
}

func contains(places []int32, n int) bool {
	for _, p := range places {
		if int(p) == n {
			return true
		}
	}
	return false
}

// withTail returns those of olds after which the hunk's trailing empty lines
// follow.
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

// changes reports whether h adds or removes anything.
func (h *hunk) changes() bool {
	for _, l := range h.lines {
		if l.op != gitdiff.OpContext {
			return true
		}
	}
	return false
}

// oldLines counts the context and removed lines.
func (h *hunk) oldLines() int {
	n := 0
	for _, l := range h.lines {
		if l.old() {
			n++
		}
	}
	return n
}

// adds reports whether h adds a line.
func (h *hunk) adds() bool {
	return slices.ContainsFunc(h.lines, func(l line) bool { return l.op == gitdiff.OpAdd })
}

// telling reports whether the new side of h, found in the file, says that h
// has been applied there: it holds a line with text and one that h keeps, and
// what h adds, or where it cuts something out, is among its lines.
func (h *hunk) telling() bool {
	removed := map[string]bool{}
	keeps, text := false, false
	for _, l := range h.lines {
		switch l.op {
		case gitdiff.OpDelete:
			removed[l.text] = true
			continue
		case gitdiff.OpContext:
			keeps = true
		case gitdiff.OpAdd:
			keeps = keeps || removed[l.text] // only its newline changes
		}
		text = text || !isBlank(l.text)
	}
	ends := h.lines[0].op == gitdiff.OpContext && h.lines[len(h.lines)-1].op == gitdiff.OpContext
	return keeps && text && (ends || h.adds())
}
