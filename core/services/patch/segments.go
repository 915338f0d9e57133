package patch

import (
	"slices"
	"time"
)

const (
	segmentLines  = 2_000 // from this number of different lines, a diff is made in segments
	segmentAround = 32    // equal lines that end a segment
	segmentWindow = 64    // lines of each side in which the next equal lines must begin
)

// segment is a part of two texts that differ, between lines that are equal.
type segment struct{ oldFrom, oldTo, newFrom, newTo int }

// segments divides two runs of lines at long runs of equal lines, so that the cost of a diff depends on the changed
// lines. It reads each line once where the texts are equal. Where no equal lines follow closely, the rest is one segment.
func segments(olds, news []string) []segment {
	if len(olds)+len(news) < segmentLines {
		return []segment{{0, len(olds), 0, len(news)}}
	}
	var all []segment
	i, j := 0, 0
	for {
		for i < len(olds) && j < len(news) && olds[i] == news[j] {
			i++
			j++
		}
		if i == len(olds) && j == len(news) {
			return all
		}
		a, b, ok := nextEqual(olds[i:], news[j:])
		if !ok {
			return append(all, segment{i, len(olds), j, len(news)})
		}
		all = append(all, segment{i, i + a, j, j + b})
		i, j = i+a, j+b
	}
}

// nextEqual returns how many lines of both sides stand before the nearest long run of equal lines. Equal lines right
// after a change are not taken for such a run if all of them are the same line.
func nextEqual(olds, news []string) (a, b int, ok bool) {
	for sum := 1; sum <= 2*segmentWindow; sum++ {
		for a := max(0, sum-segmentWindow); a <= min(sum, segmentWindow); a++ {
			b := sum - a
			if a+segmentAround > len(olds) || b+segmentAround > len(news) || olds[a] != news[b] {
				continue
			}
			run := olds[a : a+segmentAround]
			if slices.Equal(run, news[b:b+segmentAround]) && slices.ContainsFunc(run, func(l string) bool { return l != run[0] }) {
				return a, b, true
			}
		}
	}
	return 0, 0, false
}

// diffSegments returns the edits between two runs of different lines. limit is the time for all segments; a segment
// after it is replaced as a whole.
func diffSegments(olds, news []string, limit time.Duration) []edit {
	deadline := time.Now().Add(limit)
	var edits []edit
	for _, s := range segments(olds, news) {
		left := limit
		if limit > 0 {
			left = max(time.Until(deadline), time.Nanosecond)
		}
		for _, e := range diffLinesOf(olds[s.oldFrom:s.oldTo], news[s.newFrom:s.newTo], left) {
			e.start += s.oldFrom
			e.end += s.oldFrom
			edits = append(edits, e)
		}
	}
	return edits
}
