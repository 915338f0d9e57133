package main

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/services/rebase"
)

// triple holds three consecutive versions of a file.
type triple struct{ v0, v1, v2 string }

// result is the outcome of one rebase.
type result int

const (
	landed  result = iota + 1 // the bytes of both changes
	refused                   // a conflict
	differs                   // anything else
)

// judgement holds the outcomes for a triple.
type judgement struct {
	moved []result // of the difference from v1 to v2, moved to v0, in both senses; nil: the differences overlap
	whole result   // of the difference from v0 to v2
	ours  string   // the moved difference on v0
}

func (j judgement) wrong() bool { return j.whole == differs || slices.Contains(j.moved, differs) }

func judge(t triple) judgement {
	v0, v1, v2 := linesOf(t.v0), linesOf(t.v1), linesOf(t.v2)
	other := difference(v0, v1)
	var j judgement
	if moved, ok := before(difference(v1, v2), other); ok {
		j.ours = made(v0, moved)
		j.moved = []result{
			outcome(t.v0, j.ours, t.v1, t.v2),
			outcome(t.v0, t.v1, j.ours, t.v2),
		}
	}
	both, ok := "", false
	whole := difference(v0, v2)
	if !meet(whole, other) {
		both, ok = made(v0, slices.Concat(whole, other)), true
	}
	if j.whole = outcome(t.v0, t.v2, t.v1, both); j.whole == landed && !ok {
		j.whole = differs
	}
	return j
}

// outcome makes a change by the code under test; both is the result of both changes.
func outcome(base, ours, theirs, both string) result {
	text, conflict := rebase.Carry(base, ours, theirs)
	switch {
	case conflict != nil:
		return refused
	case text == both:
		return landed
	}
	return differs
}

// place is a change of lines [from, to) of a text.
type place struct {
	from, to int
	lines    []string
}

func (p place) growth() int { return len(p.lines) - (p.to - p.from) }

// before converts places of the text that other made to places of the text before. ok is false if one
// of them meets a line that other made.
func before(places, other []place) (moved []place, ok bool) {
	k, shift := 0, 0
	for _, p := range places {
		for ; k < len(other) && other[k].to+shift+other[k].growth() < p.from; k++ {
			shift += other[k].growth()
		}
		if k < len(other) && other[k].from+shift <= p.to {
			return nil, false
		}
		moved = append(moved, place{p.from - shift, p.to - shift, p.lines})
	}
	return moved, true
}

// meet reports whether places of a and b overlap or touch.
func meet(a, b []place) bool {
	return slices.ContainsFunc(a, func(p place) bool {
		return slices.ContainsFunc(b, func(q place) bool { return p.from <= q.to && q.from <= p.to })
	})
}

// made returns the text that places, which do not meet, make of lines.
func made(lines []string, places []place) string {
	places = slices.Clone(places)
	slices.SortFunc(places, func(a, b place) int { return a.from - b.from })
	var out strings.Builder
	at := 0
	add := func(lines []string) {
		for _, line := range lines {
			out.WriteString(line)
		}
	}
	for _, p := range places {
		add(lines[at:p.from])
		add(p.lines)
		at = p.to
	}
	add(lines[at:])
	return out.String()
}

func linesOf(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// difference returns the places of a smallest difference between two texts, by the greedy algorithm
// of Myers, An O(ND) Difference Algorithm and Its Variations, 1986.
func difference(a, b []string) []place {
	first := 0
	for first < min(len(a), len(b)) && a[first] == b[first] {
		first++
	}
	endA, endB := len(a), len(b)
	for endA > first && endB > first && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
	}
	places := myers(a[first:endA], b[first:endB])
	for i := range places {
		places[i].from += first
		places[i].to += first
	}
	return places
}

func myers(a, b []string) []place {
	n, m := len(a), len(b)
	if n == 0 && m == 0 {
		return nil
	}
	offset := n + m + 1
	furthest := make([]int, 2*offset+1)
	var trace [][]int // by the number of edits: the part of furthest that was written before
	for d := 0; ; d++ {
		trace = append(trace, slices.Clone(furthest[offset-d-1:offset+d+2]))
		for k := -d; k <= d; k += 2 {
			x := furthest[offset+k-1] + 1
			if k == -d || k != d && furthest[offset+k-1] < furthest[offset+k+1] {
				x = furthest[offset+k+1]
			}
			y := x - k
			for x < n && y < m && a[x] == b[y] {
				x, y = x+1, y+1
			}
			furthest[offset+k] = x
			if x >= n && y >= m {
				return backtrack(trace, a, b)
			}
		}
	}
}

// backtrack returns the places on the path through trace.
func backtrack(trace [][]int, a, b []string) []place {
	var places []place
	x, y := len(a), len(b)
	for d := len(trace) - 1; d > 0; d-- {
		was := func(k int) int { return trace[d][k+d+1] }
		k := x - y
		from := k - 1
		if k == -d || k != d && was(k-1) < was(k+1) {
			from = k + 1
		}
		px := was(from)
		py := px - from
		// After one edit at px, py all lines up to x, y are equal.
		edit := place{from: px, to: px}
		if from == k-1 {
			edit.to = px + 1
		} else {
			edit.lines = b[py : py+1]
		}
		if last := len(places) - 1; last >= 0 && places[last].from == edit.to {
			places[last].from = edit.from
			places[last].lines = slices.Concat(edit.lines, places[last].lines)
		} else {
			places = append(places, edit)
		}
		x, y = px, py
	}
	slices.Reverse(places)
	return places
}
