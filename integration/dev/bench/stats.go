package main

import (
	"math"
	"slices"
)

// Stats are the statistics of a contestant's turns, in the unit of the case.
type Stats struct {
	Least  float64 `json:"least"`
	Median float64 `json:"median"`
	P10    float64 `json:"p10"` // a tenth of the turns is at most this
	P90    float64 `json:"p90"`
	// Self is the ratio of the medians of the odd and of the even turns, at least 1. It is the
	// noise of one contestant: a ratio closer to 1 is not significant. 0: fewer than four turns.
	Self float64 `json:"self,omitempty"`
}

// summed returns the Stats of at least one value. The values are in the order of measurement.
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

// quantile returns the value below which the fraction q of sorted lies, interpolated between two
// values.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := math.Floor(at)
	below, above := sorted[int(low)], sorted[int(math.Ceil(at))]
	return below + (above-below)*(at-low)
}

// Spread returns half of the distance from P10 to P90 as a fraction of the median: the ± of the
// tables.
func (s Stats) Spread() float64 {
	return quotient(s.P90-s.P10, 2*s.Median)
}

// quotient returns a/b, 0 if b is 0.
func quotient(a, b float64) float64 {
	if b == 0 || math.IsNaN(a/b) || math.IsInf(a/b, 0) {
		return 0
	}
	return a / b
}
