// Package rebase carries a change over to a text that another writer has changed meanwhile, or
// names the conflict. It also merges the changes of two sides. It does no I/O.
package rebase

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/services/patch"
)

// apart is the number of unchanged lines that [Carry] requires between the places that two sides
// change. A smaller distance joins changes that their authors would have joined otherwise.
const apart = 3

// Conflict describes why a change does not carry over. Lines are 1-based lines of the base, first
// and last inclusive; where lines are only inserted, last is one less than first. Both are zero if
// the conflict has no position.
type Conflict struct {
	Reason string // as a sentence
	Ours   [2]int // the lines that the change to carry over replaces
	Theirs [2]int // the lines that the other side replaced
}

// Carry makes the change from base to ours in theirs, which another writer made of base. It returns
// the result, or the conflict that prevents it.
//
// The change carries over if
//   - at least three unchanged lines lie between any two places that the sides change, for every
//     possible position of an edit among equal lines,
//   - neither side adds or removes a byte-order mark or the final line ending, and
//   - making the two changes in either order gives the same bytes.
//
// Everything else is a conflict, even if both sides made the same change. The texts contain the
// byte-order mark of their file.
func Carry(base, ours, theirs string) (string, *Conflict) {
	return combined(base, ours, theirs, nil, patch.Between(base, ours).Edits(), patch.Between(base, theirs).Edits())
}

// Merge makes the changes of both sides in base. An edit that both have made, of the same lines to the same lines, is
// made once, and the other edits are combined as by [Carry]. In addition at least three unchanged lines lie between an
// edit that both have made and any other one. One of them occurs only once in each text, so that another comparison of
// the texts finds the same edits.
func Merge(base, ours, theirs string) (string, *Conflict) {
	lines := linesOf(base)
	mine, other := patch.Between(base, ours).Edits(), patch.Between(base, theirs).Edits()
	var both []patch.Edit
	mine = slices.DeleteFunc(mine, func(e patch.Edit) bool {
		same := slices.ContainsFunc(other, func(o patch.Edit) bool { return equal(e, o) })
		if same {
			both = append(both, e)
		}
		return same
	})
	if len(both) > 0 {
		other = slices.DeleteFunc(other, func(e patch.Edit) bool {
			return slices.ContainsFunc(both, func(o patch.Edit) bool { return equal(e, o) })
		})
		once := onlyOnce(lines, ours, theirs)
		for _, e := range both {
			for _, x := range mine {
				if !separate(lines, e, x, once) {
					return "", conflictOf(x, e)
				}
			}
			for _, x := range other {
				if !separate(lines, e, x, once) {
					return "", conflictOf(e, x)
				}
			}
		}
	}
	return combined(base, ours, theirs, both, mine, other)
}

func equal(a, b patch.Edit) bool {
	return a.Start == b.Start && a.End == b.End && slices.Equal(a.Lines, b.Lines)
}

// onlyOnce reports of each line of the base whether it occurs once in all three texts.
func onlyOnce(base []string, ours, theirs string) []bool {
	repeated := make(map[string]bool)
	for _, lines := range [][]string{base, linesOf(ours), linesOf(theirs)} {
		seen := make(map[string]bool, len(lines))
		for _, line := range lines {
			if seen[line] {
				repeated[line] = true
			}
			seen[line] = true
		}
	}
	once := make([]bool, len(base))
	for i, line := range base {
		once[i] = !repeated[line]
	}
	return once
}

// separate reports whether enough unchanged lines lie between two edits in all their positions.
func separate(base []string, a, b patch.Edit, once []bool) bool {
	from, to := slid(base, a)
	otherFrom, otherTo := slid(base, b)
	if otherFrom < from {
		to, otherFrom = otherTo, from
	}
	return otherFrom-to >= apart && slices.Contains(once[to:otherFrom], true)
}

// combined makes the edits mine and other of base, in which both sides have made the edits both.
func combined(base, ours, theirs string, both, mine, other []patch.Edit) (string, *Conflict) {
	lines := linesOf(base)
	if i, k := nearest(lines, mine, other); i >= 0 {
		return "", conflictOf(mine[i], other[k])
	}
	if len(both) > 0 {
		base = replaced(lines, both)
		lines = linesOf(base)
		mineHere, otherHere := moved(mine, both), moved(other, both)
		if i, k := nearest(lines, mineHere, otherHere); i >= 0 {
			return "", conflictOf(mine[i], other[k])
		}
		mine, other = mineHere, otherHere
	}
	for _, side := range []struct{ who, text string }{{"The change", ours}, {"The other writer", theirs}} {
		switch {
		case hasBOM(side.text) != hasBOM(base):
			return "", &Conflict{Reason: side.who + " adds or removes the byte-order mark."}
		case strings.HasSuffix(side.text, "\n") != strings.HasSuffix(base, "\n"):
			return "", &Conflict{Reason: side.who + " adds or removes the last line ending."}
		}
	}
	onTheirs, onOurs := moved(mine, other), moved(other, mine)
	result := replaced(linesOf(theirs), onTheirs)
	if replaced(linesOf(ours), onOurs) != result {
		return "", &Conflict{Reason: "The result depends on the order of the two changes."}
	}
	return result, nil
}

// linesOf splits a text after every line feed.
func linesOf(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func hasBOM(text string) bool { return strings.HasPrefix(text, "\ufeff") }

// nearest returns the indices of the first two edits, one of each side, that are too near to each other; -1 if there are
// none.
func nearest(base []string, mine, other []patch.Edit) (i, k int) {
	for i := range mine {
		from, to := slid(base, mine[i])
		for k := range other {
			otherFrom, otherTo := slid(base, other[k])
			if otherFrom-to < apart && from-otherTo < apart {
				return i, k
			}
		}
	}
	return -1, -1
}

func conflictOf(mine, other patch.Edit) *Conflict {
	c := &Conflict{Ours: placeOf(mine), Theirs: placeOf(other)}
	c.Reason = fmt.Sprintf("The change replaces %s, and another writer replaced %s.", rangeText(c.Ours), rangeText(c.Theirs))
	return c
}

func placeOf(e patch.Edit) [2]int { return [2]int{e.Start + 1, e.End} }

func rangeText(lines [2]int) string {
	switch first, last := lines[0], lines[1]; {
	case last < first:
		return fmt.Sprintf("nothing before line %d", first)
	case first == last:
		return fmt.Sprintf("line %d", first)
	default:
		return fmt.Sprintf("lines %d to %d", first, last)
	}
}

// slid returns the lines [from, to) of the base in which an edit may lie: inserted or removed lines
// that equal their neighbours could also be those before or after.
func slid(base []string, e patch.Edit) (from, to int) {
	from, to = e.Start, e.End
	removed := base[e.Start:e.End]
	for _, block := range [][]string{removed, e.Lines} {
		if len(block) == 0 {
			continue
		}
		down := 0
		for e.End+down < len(base) && base[e.End+down] == cyclic(block, base[e.End:], down) {
			down++
		}
		up := 0
		for e.Start-1-up >= 0 && base[e.Start-1-up] == backward(block, base[:e.Start], up) {
			up++
		}
		from, to = min(from, e.Start-up), max(to, e.End+down)
	}
	return from, to
}

// cyclic returns line n of a block followed by other lines.
func cyclic(block, after []string, n int) string {
	if n < len(block) {
		return block[n]
	}
	return after[n-len(block)]
}

// backward returns line n, counted from the end, of a block after other lines.
func backward(block, before []string, n int) string {
	if n < len(block) {
		return block[len(block)-1-n]
	}
	return before[len(before)-1-(n-len(block))]
}

// moved converts edits of the base to edits of the text that results from the edits others. The
// two lists must not overlap.
func moved(edits, others []patch.Edit) []patch.Edit {
	var all []patch.Edit
	k, shift := 0, 0
	for _, e := range edits {
		for ; k < len(others) && others[k].End <= e.Start; k++ {
			shift += len(others[k].Lines) - (others[k].End - others[k].Start)
		}
		all = append(all, patch.Edit{Start: e.Start + shift, End: e.End + shift, Lines: e.Lines})
	}
	return all
}

// replaced returns the text that edits make of lines.
func replaced(lines []string, edits []patch.Edit) string {
	var out strings.Builder
	at := 0
	for _, e := range edits {
		for _, line := range lines[at:e.Start] {
			out.WriteString(line)
		}
		for _, line := range e.Lines {
			out.WriteString(line)
		}
		at = e.End
	}
	for _, line := range lines[at:] {
		out.WriteString(line)
	}
	return out.String()
}
