package patch

import (
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// Correct finds the place of every hunk in base and returns a change that applies strictly to it.
// base is decoded text with its own line endings; a missing file is the empty text. The package
// comment describes how places are found.
//
// Context keeps the bytes of the file. Added lines are literal except for their ending:
//
//   - In a file with one kind of line ending they get that ending. But if the diff
//     has a removed and an added line that differ only in their endings, that
//     added line keeps its own; and so do all, if all context and removed lines of
//     the diff have the endings of the file. If these do, added lines also keep
//     their own in a file of LF, and if no line of the file is left.
//   - In a file that mixes endings, the added lines of a hunk keep theirs if its
//     context and removed lines have those of the file. Otherwise a line gets the
//     ending of the line that it replaces, an inserted one that of the previous line.
//
// The final newline changes if exactly one of the last old and the last new line of the diff has
// the marker for none. Otherwise it stays as it is.
//
// Errors have code invalid_diff, or ambiguous_diff for a hunk that fits in several places. Either
// all hunks are placed or none.
func Correct(base string, d *Diff) (*Change, error) {
	c := &corrector{base: splitLines(base), diff: d}
	return c.run()
}

// corrector turns a diff and its base text into a change.
type corrector struct {
	base  []string
	diff  *Diff
	spots []spot
	eol   eolRule
	notes []Correction

	marks  map[rune]map[role]bool     // see fileMarks
	others map[string]map[string]bool // non-ASCII words of the base, by skeleton; see hasLookalike
}

func (c *corrector) run() (*Change, error) {
	hunks := c.diff.hunks
	if len(hunks) == 0 {
		return nil, invalid("patch.correct", formRemedy, "The diff contains no hunk.")
	}
	for i := range hunks {
		h := &hunks[i]
		old := h.oldLines()
		if len(c.base) == 0 && old > 0 {
			return nil, absent(h, c.base)
		}
		if len(c.base) == 0 && len(h.anchors) > 0 {
			return nil, h.anchorAbsent(h.anchors[0])
		}
		if len(c.base) > 0 && old == 0 && !h.appends() {
			return nil, invalid("patch.correct", "Add the unchanged lines before and after it in the file.",
				"Hunk %d has neither context nor removed lines, so its place is unknown.", h.number)
		}
	}
	c.spots = make([]spot, len(hunks))
	if len(c.base) > 0 {
		spots, err := locate(c.base, hunks)
		if last := &hunks[len(hunks)-1]; err != nil && c.diff.cut && last.lacksLines() {
			return nil, cutOff(last.number)
		}
		if err != nil {
			return nil, err
		}
		c.spots = spots
	}
	c.eol = newEOLRule(c)
	var swapped map[string]bool
	if len(hunks) > 1 && len(c.base) > 0 {
		swapped = c.swappedIndents()
	}
	var edits []edit
	for i := range hunks {
		h := &hunks[i]
		if err := c.check(h, c.spots[i]); err != nil {
			return nil, err
		}
		if len(swapped) > 0 && tiers[c.spots[i].tier].kind == "" {
			if err := c.checkSwapped(h, swapped); err != nil {
				return nil, err
			}
		}
		edits = append(edits, c.edits(h, c.spots[i])...)
	}
	edits, err := merge(edits)
	if err != nil {
		return nil, err
	}
	edits = c.finalNewline(edits)
	edits = effective(c.base, edits)
	if !alters(c.base, edits) {
		return nil, invalid("patch.correct", "The file already contains the result of the diff; compare it with the file's current content.",
			"The diff changes nothing in this file.")
	}
	return &Change{Corrections: c.corrections(), fragments: fragments(c.base, edits)}, nil
}

// check refuses a placed hunk that would still cause damage.
func (c *corrector) check(h *hunk, s spot) error {
	if c.diff.cut && h.number == len(c.diff.hunks) {
		if c.short(h, s) || s.gap > 0 && h.lacksLines() {
			return cutOff(h.number)
		}
	} else if err := checkEdges(h, s, c.base); err != nil {
		return err
	}
	checks := []func(*hunk, spot, []string) error{checkTail, checkEnd}
	if tiers[s.tier].kind != "" {
		checks = append(checks, checkAgain, checkIndent, c.checkLookalikes)
	}
	for _, check := range checks {
		if err := check(h, s, c.base); err != nil {
			return err
		}
	}
	return nil
}

// short reports whether h has fewer lines than its header counts, by more than trimmed blank
// context at its end.
func (c *corrector) short(h *hunk, s spot) bool {
	if !h.lacksLines() {
		return false
	}
	missing, news := h.missing(0)
	if missing != news {
		return true
	}
	if last := h.lines[len(h.lines)-1].text; last != strings.TrimRight(last, whiteSpace) {
		return true // the text was not trimmed
	}
	if h.oldLines() == 0 {
		return true
	}
	end := s.line(h.oldLines()-1) + 1
	if end+missing > len(c.base) {
		return true
	}
	return slices.ContainsFunc(c.base[end:end+missing], func(l string) bool { return !isBlank(l) })
}

// edits returns the edits of h at s.
func (c *corrector) edits(h *hunk, s spot) []edit {
	var (
		edits []edit
		open  *edit
		k     int // old lines passed
		at    = s.start
	)
	begin := func() {
		if open == nil {
			edits = append(edits, edit{start: at, end: at, hunk: h})
			open = &edits[len(edits)-1]
		}
	}
	for _, l := range h.lines {
		switch l.op {
		case gitdiff.OpContext:
			at = s.line(k)
			k++
			if l.again && l.text != content(c.base[at]) { // trailing white space is removed
				begin()
				open.added = append(open.added, addition{line: l})
				at++
				open.end = at
				continue
			}
			at++
			open = nil
		case gitdiff.OpDelete:
			if next := s.line(k); next != at { // a line that was left out stays
				at, open = next, nil
			}
			k++
			begin()
			at++
			open.end = at
		case gitdiff.OpAdd:
			if s.after && k == s.gap {
				at = s.line(k)
			}
			begin()
			open.added = append(open.added, addition{line: l})
		}
	}
	for i := range edits {
		e := &edits[i]
		for j := range e.added {
			e.added[j].text = e.added[j].line.text + c.eol.forAdded(*e, j)
		}
	}
	return edits
}

// finalNewline sets the final newline of the new text. Only the last edit can affect it.
func (c *corrector) finalNewline(edits []edit) []edit {
	if len(edits) == 0 || edits[len(edits)-1].end < len(c.base) {
		return edits
	}
	e := &edits[len(edits)-1]
	baseNewline := len(c.base) == 0 || strings.HasSuffix(c.base[len(c.base)-1], "\n")
	if len(e.added) == 0 {
		if h := e.hunk; !baseNewline && e.start > 0 && h.lastNew().again && !h.lastOld().noEOL {
			// The hunk repeats its new last line, without regard to the missing newline.
			e.start--
			if text := content(c.base[e.start]); text != "" {
				e.added = []addition{{text: text}}
			}
			c.note(h, kindFinalNewline, len(c.base)-1, len(c.base)-1)
		}
		return edits
	}
	last := &e.added[len(e.added)-1]
	h := e.hunk
	oldNewline := baseNewline
	if n := h.oldLines(); n > 0 && c.spots[h.number-1].line(n-1) == len(c.base)-1 {
		oldNewline = !h.lastOld().noEOL
	} else if h.appends() {
		oldNewline = true
	}
	newNewline := !last.line.noEOL
	want := baseNewline
	if oldNewline != newNewline || len(c.base) == 0 {
		want = newNewline
	}
	if !h.section && (want != newNewline || oldNewline != baseNewline) {
		c.note(h, kindFinalNewline, len(c.base)-1, len(c.base)-1)
	}
	if !want {
		last.text = last.line.text
		if !c.diff.crlf || c.diff.doubled {
			last.text += c.diff.returns(last.line)
		}
		if last.text == "" { // an empty line without its newline does not exist
			e.added = e.added[:len(e.added)-1]
		}
	}
	if e.start == e.end && !baseNewline {
		e.start--
		eol := c.eol.near(e.start)
		if strings.HasSuffix(c.base[e.start], "\r") {
			eol = lf
		}
		e.added = append([]addition{{text: c.base[e.start] + eol}}, e.added...)
	}
	return edits
}

func (c *corrector) note(h *hunk, kind string, first, last int) {
	c.notes = append(c.notes, Correction{Hunk: h.number, Kind: kind, Lines: [2]int{first + 1, last + 1}})
}

// corrections returns the repairs.
func (c *corrector) corrections() []Correction {
	all := slices.Clone(c.diff.forgiven)
	if !slices.IsSortedFunc(c.spots, func(a, b spot) int { return a.start - b.start }) {
		all = append(all, Correction{Kind: kindHunkOrder})
	}
	for i := range c.diff.hunks {
		h := &c.diff.hunks[i]
		mark := len(c.notes)
		c.describe(h, c.spots[i])
		described := slices.Clone(c.notes[mark:])
		c.notes = c.notes[:mark]
		all = append(all, described...)
		for _, n := range c.notes {
			if n.Hunk == h.number {
				all = append(all, n)
			}
		}
	}
	return all
}

// describe records the tolerated defects of one hunk.
func (c *corrector) describe(h *hunk, s spot) {
	n := h.oldLines()
	if n == 0 {
		return
	}
	first, last := s.line(0), s.line(n-1)
	for _, r := range []struct {
		seen bool
		kind string
	}{
		{!h.head.placed && !h.section, kindHunkHeader},
		{h.head.placed && h.head.oldStart != first+1, kindLineNumbers},
		{s.nearest, kindNearestPlace},
		{h.head.placed && !h.countsHold, kindLineCounts},
		{h.blanksMissed, kindBlankContext},
		{c.eol.differs(h, s), kindLineEndings},
	} {
		if r.seen {
			c.note(h, r.kind, first, last)
		}
	}
	if kind := tiers[s.tier].kind; kind != "" {
		from := -1
		k := 0
		for _, l := range h.lines {
			if !l.old() {
				continue
			}
			at := s.line(k)
			k++
			same := l.text == content(c.base[at])
			if !same && from < 0 {
				from = at
			}
			if same && from >= 0 {
				c.note(h, kind, from, at-1)
				from = -1
			}
		}
		if from >= 0 {
			c.note(h, kind, from, last)
		}
	}
	if s.gap > 0 {
		c.note(h, kindMissingContext, s.start+s.gap, s.start+s.gap)
	}
}
