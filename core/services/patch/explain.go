package patch

import (
	"fmt"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/fettle-dev/fettle/core/fault"
)

// absent refuses a hunk whose old lines do not occur in the file. The remedy shows the region of
// the file that is most similar to the hunk and the first different line, so that the next diff can
// be correct.
func absent(h *hunk, base []string) *fault.Error {
	return fault.New(fault.InvalidDiff, "patch.correct", absentMessage, nearMiss(h, base))
}

func nearMiss(h *hunk, base []string) string {
	if len(base) == 0 {
		return fmt.Sprintf("The file is empty, but hunk %d has context or removed lines. Send added lines only.", h.number)
	}
	start, ok := mostAlike(h, base)
	if !ok {
		return fmt.Sprintf("None of the context and removed lines of hunk %d occurs in the file. Copy them from the file's current content.", h.number)
	}
	var b strings.Builder
	k := 0
	for _, l := range h.lines {
		if !l.old() {
			continue
		}
		at := start + k
		k++
		if at >= 0 && at < len(base) && content(base[at]) == l.text {
			continue
		}
		what := "context"
		if l.op == gitdiff.OpDelete {
			what = "removed"
		}
		fmt.Fprintf(&b, "Hunk %d is most similar to the file from line %d on, but there its %s line %s ", h.number, max(start, 0)+1, what, excerpt(l.text))
		if at < 0 || at >= len(base) {
			b.WriteString("lies outside the file.")
		} else {
			fmt.Fprintf(&b, "is not the content of line %d.", at+1)
		}
		b.WriteString(" The file has:\n")
		const around = 3
		for i := max(0, at-around); i < min(len(base), at+around+1); i++ {
			fmt.Fprintf(&b, "%d: %s\n", i+1, excerpt(base[i]))
		}
		break
	}
	b.WriteString("Copy context and removed lines from the file's current content.")
	return b.String()
}

// unclearGap refuses a hunk that leaves out line missing of the file, 0-based, if it can be read in
// more than one way.
func unclearGap(h *hunk, base []string, missing int) *fault.Error {
	return fault.New(fault.InvalidDiff, "patch.correct", absentMessage, fmt.Sprintf(
		"Hunk %d leaves out line %d of the file, %s, next to a change, so that it is not certain where the change belongs or whether the line stays. Send the hunk again with that line.",
		h.number, missing+1, excerpt(base[missing])))
}

// mostAlike returns the place at which most old lines of h would match the base. Frequent lines are
// not counted. ok is false if no line occurs.
func mostAlike(h *hunk, base []string) (start int, ok bool) {
	const often = 50
	fold := trimmed
	wanted := map[string][]int{} // folded line -> positions among the old lines
	k := 0
	for _, l := range h.lines {
		if l.old() {
			if key := fold(l.text); key != "" && len(wanted[key]) < often {
				wanted[key] = append(wanted[key], k)
			}
			k++
		}
	}
	votes, seen := map[int]int{}, map[string]int{}
	best := 0
	for at, l := range base {
		key := fold(content(l))
		ks := wanted[key]
		if len(ks) == 0 || seen[key] == often {
			continue
		}
		seen[key]++
		for _, k := range ks {
			votes[at-k]++
			if v := votes[at-k]; v > best || v == best && h.head.placed && distance(at-k, h.head.oldStart-1) < distance(start, h.head.oldStart-1) {
				best, start = v, at-k
			}
		}
	}
	return start, best > 0
}
