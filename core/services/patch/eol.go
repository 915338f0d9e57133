package patch

const (
	lf   = "\n"
	crlf = "\r\n"
)

// eolRule decides the line ending of added lines (FS-36).
type eolRule struct {
	c      *corrector
	common string // the commoner ending of the base; LF where it has none
	mixed  bool   // the base has both endings
	none   bool   // the base has no line ending
	stated bool   // the diff's old lines state both endings, all of them rightly
}

func newEOLRule(c *corrector) eolRule {
	r := eolRule{c: c, common: lf}
	lfs, crlfs := 0, 0
	for _, l := range c.base {
		switch ending(l) {
		case lf:
			lfs++
		case crlf:
			crlfs++
		}
	}
	if crlfs > lfs {
		r.common = crlf
	}
	r.mixed = lfs > 0 && crlfs > 0
	r.none = lfs+crlfs == 0
	if r.mixed && !c.diff.crlf {
		r.stated = r.statedRightly()
	}
	return r
}

// statedRightly reports whether the old lines of all hunks have the endings of
// the file, and among them both kinds.
func (r *eolRule) statedRightly() bool {
	seen := map[bool]bool{}
	for i := range r.c.diff.hunks {
		h := &r.c.diff.hunks[i]
		k := 0
		for _, l := range h.lines {
			if !l.old() {
				continue
			}
			own := ending(r.c.base[r.c.spots[i].line(k)])
			k++
			if own == "" {
				continue
			}
			if l.cr != (own == crlf) {
				return false
			}
			seen[l.cr] = true
		}
	}
	return len(seen) == 2
}

// forAdded returns the ending of the i-th added line of e.
func (r *eolRule) forAdded(e edit, i int) string {
	byDiff := lf
	if e.added[i].line.cr && !r.c.diff.crlf {
		byDiff = crlf
	}
	switch {
	case r.none, r.stated:
		return byDiff
	case !r.mixed:
		return r.common
	}
	at := e.start - 1
	if e.end > e.start {
		at = e.start + min(i, e.end-e.start-1)
	}
	return r.near(max(at, 0))
}

// near returns the ending of the base line at, or of the nearest one before it
// that has one.
func (r *eolRule) near(at int) string {
	for ; at >= 0; at-- {
		if own := ending(r.c.base[at]); own != "" {
			return own
		}
	}
	return r.common
}

// differs reports whether an old line of h has another line ending than the
// file.
func (r *eolRule) differs(h *hunk, s spot) bool {
	k := 0
	for _, l := range h.lines {
		if !l.old() {
			continue
		}
		own := ending(r.c.base[s.line(k)])
		k++
		if own != "" && l.cr != (own == crlf) {
			return true
		}
	}
	return false
}
