package patch

import (
	"slices"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// changes reports whether h may change a line. A line that it removes and adds again counts,
// because the file may have it with trailing white space.
func (h *hunk) changes() bool {
	return slices.ContainsFunc(h.lines, func(l line) bool { return l.op != gitdiff.OpContext || l.again })
}

// alters reports whether h removes or adds a line, other than unchanged.
func (h *hunk) alters() bool {
	return slices.ContainsFunc(h.lines, func(l line) bool { return l.op != gitdiff.OpContext })
}

// adds reports whether h adds a line.
func (h *hunk) adds() bool {
	return slices.ContainsFunc(h.lines, func(l line) bool { return l.op == gitdiff.OpAdd })
}

// removes reports whether h removes a line.
func (h *hunk) removes() bool {
	return slices.ContainsFunc(h.lines, func(l line) bool { return l.op == gitdiff.OpDelete })
}

func (h *hunk) count(pick func(line) bool) int {
	n := 0
	for _, l := range h.lines {
		if pick(l) {
			n++
		}
	}
	return n
}

// texts returns the contents of the lines that pick selects.
func (h *hunk) texts(pick func(line) bool) []string {
	var texts []string
	for _, l := range h.lines {
		if pick(l) {
			texts = append(texts, l.text)
		}
	}
	return texts
}

// oldLines counts the context and removed lines.
func (h *hunk) oldLines() int { return h.count(line.old) }

// core returns the range of old lines that h changes, [begin, end). They are equal for a pure
// insertion, before old line begin. Without a change both are the number of old lines.
func (h *hunk) core() (begin, end int) {
	begin = -1
	k := 0
	for _, l := range h.lines {
		changed := l.op != gitdiff.OpContext || l.again
		if changed && begin < 0 {
			begin = k
		}
		if l.old() {
			k++
		}
		if changed {
			end = k
		}
	}
	if begin < 0 {
		return k, k
	}
	return begin, end
}

// isEvidence reports whether the new side of h, found in the file, is evidence that h has been applied
// there: it contains a line with text and one that h keeps, and the lines that h adds, or the place
// of a removal, are inside it.
func (h *hunk) isEvidence() bool {
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

// hasNewText reports whether a line of the new side of h is not blank.
func (h *hunk) hasNewText() bool {
	return slices.ContainsFunc(h.lines, func(l line) bool { return l.isNew() && !isBlank(l.text) })
}

func (h *hunk) lastOld() line {
	for _, l := range slices.Backward(h.lines) {
		if l.old() {
			return l
		}
	}
	return line{}
}

func (h *hunk) lastNew() line {
	for _, l := range slices.Backward(h.lines) {
		if l.op != gitdiff.OpDelete {
			return l
		}
	}
	return line{}
}
