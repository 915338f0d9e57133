package patch

import (
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

const (
	lf   = "\n"
	crlf = "\r\n"
)

// eolRule determines the line ending of added lines. See [Correct].
type eolRule struct {
	c       *corrector
	common  string // the most common ending of the base; LF if it has none
	mixed   bool   // the base has several endings
	none    bool   // the base has no line ending
	literal bool   // all old lines of the diff have correct endings, and it changes some
}

func newEOLRule(c *corrector) eolRule {
	r := eolRule{c: c, common: lf}
	counts := map[string]int{}
	plain := 0
	for _, l := range c.base {
		if n := len(l); n > 1 && l[n-1] == '\n' && l[n-2] != '\r' {
			plain++
			continue
		}
		if own := ending(l); own != "" {
			counts[own]++
		}
	}
	if plain > 0 {
		counts[lf] += plain
	}
	for _, own := range []string{crlf, "\r\r\n"} {
		if counts[own] > counts[r.common] {
			r.common = own
		}
	}
	r.mixed = len(counts) > 1
	r.none = len(counts) == 0
	if !r.mixed && !r.none && r.allRight() {
		// In a file of LF, context without CR next to added lines with it is deliberate. A diff
		// that leaves no line of the file leaves none of its endings.
		removed := 0
		for i := range c.diff.hunks {
			h := &c.diff.hunks[i]
			removed += h.count(func(l line) bool { return l.op == gitdiff.OpDelete })
			r.literal = r.literal || r.changesEnding(h)
		}
		r.literal = r.literal || r.common == lf || removed == len(c.base)
	}
	return r
}

// allRight reports whether the old lines of all hunks have the endings of the file.
func (r *eolRule) allRight() bool {
	for i := range r.c.diff.hunks {
		if !r.right(&r.c.diff.hunks[i]) {
			return false
		}
	}
	return true
}

// right reports whether the old lines of h have the endings of the file, and at least one of them
// has an ending.
func (r *eolRule) right(h *hunk) bool {
	d := r.c.diff
	if d.crlf && !d.doubled {
		return false // the CR may come from the transport
	}
	s := r.c.spots[h.number-1]
	k, seen := 0, false
	for _, l := range h.lines {
		if !l.old() {
			continue
		}
		own := ending(r.c.base[s.line(k)])
		k++
		if own == "" {
			continue
		}
		if d.ending(l) != own {
			return false
		}
		seen = true
	}
	return seen
}

// ending returns the line ending of l in the diff.
func (d *Diff) ending(l line) string { return d.returns(l) + lf }

// returns returns the carriage returns of the diff at the end of l, without the one that all of its
// lines have.
func (d *Diff) returns(l line) string {
	n := l.cr
	if d.crlf && d.doubled {
		n--
	}
	return strings.Repeat("\r", max(n, 0))
}

// changesEnding reports whether h has a removed and an added line that differ only in their
// endings, by its own text or by that of the file.
func (r *eolRule) changesEnding(h *hunk) bool {
	s := r.c.spots[h.number-1]
	k := 0
	removed := map[string]bool{} // of the file, in the open change
	for _, l := range h.lines {
		switch l.op {
		case gitdiff.OpAdd:
			if l.ends || removed[l.text] && !l.noEOL && r.c.diff.ending(l) != r.common {
				return true
			}
			continue
		case gitdiff.OpContext:
			clear(removed)
		case gitdiff.OpDelete:
			removed[content(r.c.base[s.line(k)])] = true
		}
		k++
	}
	return false
}

// forAdded returns the ending of the i-th added line of e.
func (r *eolRule) forAdded(e edit, i int) string {
	d, l := r.c.diff, e.added[i].line
	switch {
	case l.ends, r.literal:
		return d.ending(l)
	case r.none && d.crlf && !d.doubled:
		return lf
	case r.none:
		return d.ending(l)
	case !r.mixed:
		return r.common
	case r.right(e.hunk):
		return d.ending(l)
	}
	at := e.start - 1
	if e.end > e.start {
		at = e.start + min(i, e.end-e.start-1)
	}
	return r.near(max(at, 0))
}

// near returns the ending of the base line at, or of the nearest previous line with one.
func (r *eolRule) near(at int) string {
	for ; at >= 0; at-- {
		if own := ending(r.c.base[at]); own != "" {
			return own
		}
	}
	return r.common
}

// differs reports whether an old line of h has a different line ending than the file.
func (r *eolRule) differs(h *hunk, s spot) bool {
	k := 0
	for _, l := range h.lines {
		if !l.old() {
			continue
		}
		own := ending(r.c.base[s.line(k)])
		k++
		if own != "" && r.c.diff.ending(l) != own {
			return true
		}
	}
	return false
}

// markEndings marks the added lines of a hunk that equal a removed line of the same change except
// for its ending.
func markEndings(lines []line) {
	for i := 0; i < len(lines); {
		if lines[i].op == gitdiff.OpContext {
			i++
			continue
		}
		first := i
		for i < len(lines) && lines[i].op != gitdiff.OpContext {
			i++
		}
		run := lines[first:i]
		next := 0 // removed lines are paired in order
		for j := range run {
			if run[j].op != gitdiff.OpAdd {
				continue
			}
			for k := next; k < len(run); k++ {
				if run[k].op == gitdiff.OpDelete && run[k].text == run[j].text {
					run[j].ends = run[k].cr != run[j].cr && !run[k].noEOL && !run[j].noEOL
					next = k + 1
					break
				}
			}
		}
	}
}
