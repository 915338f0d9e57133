package filestate

import "slices"

// coverage is the set of lines of one content that were shown, as sorted, disjoint half-open
// intervals of 0-based lines. A copy is independent.
type coverage struct {
	spans [][2]int
}

// add adds [from, to) to the set.
func (c *coverage) add(from, to int) {
	if from >= to {
		return
	}
	i := 0
	for i < len(c.spans) && c.spans[i][1] < from {
		i++
	}
	j := i
	for j < len(c.spans) && c.spans[j][0] <= to {
		from, to = min(from, c.spans[j][0]), max(to, c.spans[j][1])
		j++
	}
	c.spans = slices.Concat(c.spans[:i], [][2]int{{from, to}}, c.spans[j:])
}

// whole reports whether all of total lines are in the set.
func (c *coverage) whole(total int) bool {
	if total == 0 {
		return true
	}
	return len(c.spans) > 0 && c.spans[0][0] == 0 && c.spans[0][1] >= total
}

// missing returns the intervals of [0, total) that are not in the set.
func (c *coverage) missing(total int) [][2]int {
	var gaps [][2]int
	at := 0
	for _, s := range c.spans {
		if at >= total {
			break
		}
		if s[0] > at {
			gaps = append(gaps, [2]int{at, min(s[0], total)})
		}
		at = max(at, s[1])
	}
	if at < total {
		gaps = append(gaps, [2]int{at, total})
	}
	return gaps
}
