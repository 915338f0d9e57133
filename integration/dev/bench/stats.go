package main

import (
	"math"
	"slices"
)

// Stats sums up what the turns of a contestant measured, in the unit of the case.
type Stats struct {
	Least  float64 `json:"least"`
	Median float64 `json:"median"`
	P10    float64 `json:"p10"` // a tenth of the turns is at most this
	P90    float64 `json:"p90"`
	// Self is how many times the median of every second turn is that of the
	// others, at least 1: by so much two runs of the same thing differ, so a
	// ratio that is nearer to 1 says nothing. 0: fewer than four turns.
	Self float64 `json:"self,omitempty"`
}

// summed makes Stats of at least one value, in the order in which they were
// measured.
func summed(values []float64) Stats {
	sorted := slices.Sorted(slices.Values(values))
	s := Stats{Least: sorted[0], Median: quantile(sorted, 0.5), P10: quantile(sorted, 0.1), P90: quantile(sorted, 0.9)}
	if len(values) >= 4 {
		var halves [2][]float64
		for i, v := range values {
			halves[i%2] = append(halves[i%2], v)
		}
		slices.Sort(halves[0])
		slices.Sort(halves[1])
		if r := quotient(quantile(halves[0], 0.5), quantile(halves[1], 0.5)); r > 0 {
			s.Self = max(r, 1/r)
		}
	}
	return s
}

// quantile returns the value below which the part q of sorted lies, between
// two of them in proportion.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := math.Floor(at)
	below, above := sorted[int(low)], sorted[int(math.Ceil(at))]
	return below + (above-below)*(at-low)
}

// Spread is half of the distance from P10 to P90, as a part of the median: the ±
// of the tables.
func (s Stats) Spread() float64 {
	return quotient(s.P90-s.P10, 2*s.Median)
}

// quotient returns a/b, 0 where that is no number.
func quotient(a, b float64) float64 {
	if b == 0 || math.IsNaN(a/b) || math.IsInf(a/b, 0) {
		return 0
	}
	return a / b
}
