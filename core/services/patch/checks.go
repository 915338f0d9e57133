package patch

import (
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

const indentRemedy = "Copy the indentation of context, removed and added lines from the file byte for byte."

// missing returns the number of old and new lines in the header beyond those of h and more lines of
// context.
func (h *hunk) missing(more int) (olds, news int) {
	olds, news = h.head.oldCount-more, h.head.newCount-more
	for _, l := range h.lines {
		if l.op != gitdiff.OpAdd {
			olds--
		}
		if l.op != gitdiff.OpDelete {
			news--
		}
	}
	return olds, news
}

// lacksLines reports whether the header counts more lines than h has.
func (h *hunk) lacksLines() bool {
	olds, news := h.missing(0)
	return h.head.counted && !h.countsHold && (olds > 0 || news > 0)
}

// checkTail refuses a hunk that ends in empty lines missing from the file, if its header counts
// more lines than the others: then they are context, not spacing, and the hunk belongs elsewhere.
func checkTail(h *hunk, s spot, base []string) error {
	olds, news := h.missing(0)
	if !h.head.counted || olds <= 0 || olds != news || h.matchedTail(s, base) == h.tail {
		return nil
	}
	return invalid("patch.correct", "Begin every context line with a blank, and copy it from the file.",
		"Hunk %d fits at line %d but for the empty lines at its end, which its header counts.", h.number, s.line(0)+1)
}

// matchedTail counts the empty lines at the end of h that the file has too.
func (h *hunk) matchedTail(s spot, base []string) int {
	end := s.line(h.oldLines()-1) + 1
	n := 0
	for n < h.tail && end+n < len(base) && isBlank(base[end+n]) {
		n++
	}
	return n
}

// checkEdges refuses a hunk that inserts lines at its own edge if its header counts one more line
// of context than it has: that line may belong in between.
func checkEdges(h *hunk, s spot, base []string) error {
	known := h.matchedTail(s, base)
	if s.gap > 0 {
		known++
	}
	olds, news := h.missing(known)
	if !h.head.counted || olds != 1 || news != 1 {
		return nil
	}
	n := len(h.lines)
	leading := slices.IndexFunc(h.lines, line.old)
	trailing := 0
	for trailing < n && !h.lines[n-1-trailing].old() {
		trailing++
	}
	inserts := func(run, next int) bool { return run > 0 && run < n && h.lines[next].op == gitdiff.OpContext }
	if inserts(leading, leading) && s.start > 0 ||
		inserts(trailing, n-1-trailing) && s.line(h.oldLines()-1) < len(base)-1 {
		return invalid("patch.correct", "Write the unchanged lines on both sides of the added ones.",
			"Hunk %d adds lines at its edge, and its header counts one more line of context than it has, so the place of these lines is not certain.", h.number)
	}
	return nil
}

// checkEnd refuses a hunk that marks the missing final newline of a file that has none, but fits
// only before the end of the file. (For other files the marker is a habit without meaning.)
func checkEnd(h *hunk, s spot, base []string) error {
	n := len(base)
	if n == 0 || strings.HasSuffix(base[n-1], "\n") || s.line(h.oldLines()-1) == n-1 {
		return nil
	}
	if last := h.lines[len(h.lines)-1]; last.op == gitdiff.OpContext && last.noEOL && s.line(h.oldLines()-1) == n-2 && h.count(func(l line) bool { return l.noEOL }) == 1 {
		return nil // the last line of the file is left out of the context
	}
	if slices.ContainsFunc(h.lines, func(l line) bool { return l.noEOL }) {
		return invalid("patch.correct", "Add the unchanged lines up to the end of the file, or leave the marker out.",
			"Hunk %d marks the end of the file, but its lines are at line %d, where the file continues.", h.number, s.line(0)+1)
	}
	return nil
}

// checkAgain refuses a hunk that removes a line and adds it again unchanged, if the file has other
// characters or different indentation there: it is unclear whether these should stay. Trailing
// white space is removed.
func checkAgain(h *hunk, s spot, base []string) error {
	k := 0
	for _, l := range h.lines {
		if !l.old() {
			continue
		}
		own := base[s.line(k)]
		k++
		if l.again && l.text != strings.TrimRight(content(own), whiteSpace) && l.text != content(own) {
			return invalid("patch.correct", "Write a line that stays as context, and copy it from the file byte for byte.",
				"Hunk %d removes %s and adds it again, but line %d of the file is %s.", h.number, excerpt(l.text), s.line(k-1)+1, excerpt(own))
		}
	}
	return nil
}

// checkIndent refuses a hunk whose lines may match the wrong lines, or whose added lines would get
// the wrong indentation.
//
// Lines that differ only in their indentation, such as closing brackets, must not be confused: each
// indentation of the diff must correspond to one of the file, unless the diff has lost all of it.
//
// If old lines have a different indentation in the file than in the diff, an added line is correct
// only if its indentation is the file's own: either an old line of the hunk has it too, or, if the
// diff has spaces for tabs or the reverse, it consists of the file's white space.
func checkIndent(h *hunk, s spot, base []string) error {
	wrong, right := map[string]bool{}, map[string]bool{}
	stands := map[string]string{} // indentation in the diff -> in the file
	lost, torn := true, false
	depthKnown := true // all wrong ones differ only in kind, not in depth
	kind := ""         // the white space of the file's indentation; "mixed" if several
	k := 0
	for _, l := range h.lines {
		if !l.old() {
			continue
		}
		own := content(base[s.line(k)])
		k++
		if isBlank(own) && isBlank(l.text) {
			continue // trailing white space, if any
		}
		has, states := indentOf(own), indentOf(l.text)
		kind = joinKinds(kind, kindOf(has))
		if !isBlank(own) {
			lost = lost && states == ""
			earlier, ok := stands[states]
			torn = torn || ok && earlier != has
			stands[states] = has
		}
		if has == states {
			right[has] = true
			continue
		}
		wrong[states] = true
		if kindOf(states) == kindOf(has) || kindOf(states) == "" || kindOf(has) == "" {
			depthKnown = false
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	if torn && !lost {
		return invalid("patch.correct", indentRemedy,
			"Hunk %d fits at line %d only with a different indentation, and not with the same one throughout.", h.number, s.line(0)+1)
	}
	for _, l := range h.lines {
		if l.op != gitdiff.OpAdd || l.text == "" {
			continue
		}
		indent := indentOf(l.text)
		consistent := right[indent] || depthKnown && (indent == "" || kindOf(indent) == kind && kind != "mixed")
		if wrong[indent] || !consistent {
			return invalid("patch.correct", indentRemedy,
				"Hunk %d fits at line %d only with a different indentation, and its added line %s would not have the file's.", h.number, s.line(0)+1, excerpt(l.text))
		}
	}
	return nil
}

// kindOf returns the white space of an indentation: its character, "mixed", or "" for none.
func kindOf(indent string) string {
	if indent == "" {
		return ""
	}
	if strings.Trim(indent, indent[:1]) != "" {
		return "mixed"
	}
	return indent[:1]
}

func joinKinds(a, b string) string {
	switch {
	case a == "" || a == b:
		return b
	case b == "":
		return a
	}
	return "mixed"
}

// swappedIndents returns the white space, by kindOf, that the diff has instead of another kind in
// old lines of any hunk.
func (c *corrector) swappedIndents() map[string]bool {
	swapped := map[string]bool{}
	for i := range c.diff.hunks {
		h, k := &c.diff.hunks[i], 0
		for _, l := range h.lines {
			if !l.old() {
				continue
			}
			has, states := kindOf(indentOf(content(c.base[c.spots[i].line(k)]))), kindOf(indentOf(l.text))
			k++
			if l.text != "" && has != "" && states != "" && has != states {
				swapped[states] = true
			}
		}
	}
	return swapped
}

// checkSwapped refuses a hunk that fits exactly but adds lines whose indentation consists of white
// space that another hunk of the diff has instead of the file's own, unless an old line of this
// hunk shows that the file has it here.
func (c *corrector) checkSwapped(h *hunk, swapped map[string]bool) error {
	shown := map[string]bool{}
	for _, l := range h.lines {
		if l.old() {
			shown[kindOf(indentOf(l.text))] = true
		}
	}
	for _, l := range h.lines {
		kind := kindOf(indentOf(l.text))
		if l.op == gitdiff.OpAdd && swapped[kind] && !shown[kind] {
			return invalid("patch.correct", indentRemedy,
				"Another hunk of the diff has different white space than the file in its indentation, and the added line %s of hunk %d is indented like that.", excerpt(l.text), h.number)
		}
	}
	return nil
}
