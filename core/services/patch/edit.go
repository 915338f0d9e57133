package patch

import (
	"slices"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// edit replaces the base lines [start, end), 0-based, by added lines.
type edit struct {
	start, end int
	added      []addition
	hunk       *hunk // of the last added line, or of the removal
}

// addition is one line that an edit adds.
type addition struct {
	text string // with its ending
	line line   // as in the diff
}

// merge sorts the edits of all hunks and joins adjacent ones. Two hunks that change the same line,
// or insert at the same place, are refused.
func merge(edits []edit) ([]edit, error) {
	slices.SortStableFunc(edits, func(a, b edit) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return a.end - b.end
	})
	for i := 1; i < len(edits); i++ {
		a, b := edits[i-1], edits[i]
		if b.start < a.end || a.start == b.end {
			return nil, invalid("patch.correct", "Send one hunk for each changed place, created from the file's current content.",
				"Hunks %d and %d both change line %d.", min(a.hunk.number, b.hunk.number), max(a.hunk.number, b.hunk.number), b.start+1)
		}
	}
	var out []edit
	for _, e := range edits {
		if len(out) == 0 || out[len(out)-1].end < e.start {
			out = append(out, e)
			continue
		}
		last := &out[len(out)-1]
		last.end = e.end
		if len(e.added) > 0 || len(last.added) == 0 {
			last.hunk = e.hunk
		}
		last.added = append(slices.Clip(last.added), e.added...)
	}
	return out, nil
}

// effective drops edits, and lines at their ends, that change nothing.
func effective(base []string, edits []edit) []edit {
	var out []edit
	for _, e := range edits {
		for e.start < e.end && len(e.added) > 0 && base[e.start] == e.added[0].text {
			e.start++
			e.added = e.added[1:]
		}
		for e.start < e.end && len(e.added) > 0 && base[e.end-1] == e.added[len(e.added)-1].text {
			e.end--
			e.added = e.added[:len(e.added)-1]
		}
		if e.start < e.end || len(e.added) > 0 {
			out = append(out, e)
		}
	}
	return out
}

// alters reports whether edits together change the text base. Lines that one edit removes and the
// next adds again do not.
func alters(base []string, edits []edit) bool {
	added, removed := 0, 0
	for _, e := range edits {
		added += len(e.added)
		removed += e.end - e.start
	}
	if added != removed || len(edits) == 0 {
		return len(edits) > 0
	}
	now := edits[0].start // the base line that the next new line must equal
	same := func(line string) bool {
		now++
		return base[now-1] == line
	}
	at := edits[0].start
	for _, e := range edits {
		for ; at < e.start; at++ {
			if !same(base[at]) {
				return true
			}
		}
		for _, a := range e.added {
			if !same(a.text) {
				return true
			}
		}
		at = e.end
	}
	return false
}

// fragments turns edits, sorted and disjoint, into fragments with context from the base. Neighbours
// whose context would meet share one. A fragment without an old line is made only for an empty
// base: for any other the applier would place it one line too early.
func fragments(base []string, edits []edit) []*gitdiff.TextFragment {
	var all []*gitdiff.TextFragment
	shift := 0 // lines added by the previous fragments
	for len(edits) > 0 {
		n := 1
		for n < len(edits) && edits[n].start-edits[n-1].end <= 2*contextLines {
			n++
		}
		f := fragment(base, edits[:n], shift)
		shift += int(f.NewLines - f.OldLines)
		all = append(all, f)
		edits = edits[n:]
	}
	return all
}

// fragment turns edits into one fragment.
func fragment(base []string, edits []edit, shift int) *gitdiff.TextFragment {
	first := max(0, edits[0].start-contextLines)
	last := min(len(base), edits[len(edits)-1].end+contextLines)
	f := &gitdiff.TextFragment{
		LeadingContext:  int64(edits[0].start - first),
		TrailingContext: int64(last - edits[len(edits)-1].end),
		OldLines:        int64(last - first),
	}
	at := first
	put := func(op gitdiff.LineOp, end int) {
		for ; at < end; at++ {
			f.Lines = append(f.Lines, gitdiff.Line{Op: op, Line: base[at]})
		}
	}
	for _, e := range edits {
		put(gitdiff.OpContext, e.start)
		put(gitdiff.OpDelete, e.end)
		for _, a := range e.added {
			f.Lines = append(f.Lines, gitdiff.Line{Op: gitdiff.OpAdd, Line: a.text})
		}
		f.LinesDeleted += int64(e.end - e.start)
		f.LinesAdded += int64(len(e.added))
	}
	put(gitdiff.OpContext, last)
	f.NewLines = f.OldLines - f.LinesDeleted + f.LinesAdded
	// A side without lines has the number of the previous line.
	f.OldPosition, f.NewPosition = int64(first), int64(first+shift)
	if f.OldLines > 0 {
		f.OldPosition++
	}
	if f.NewLines > 0 {
		f.NewPosition++
	}
	return f
}
