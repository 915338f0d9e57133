package main

import "math"

// The colours of the plots.
const (
	ink      = "#1f2328"
	faint    = "#d0d7de"
	quicker  = "#1a7f64" // bars of cases in which fettle takes less time
	slower   = "#b35900"
	budgeted = "#c4001d"
)

// lineColors are the colours of the lines of a plot. They are distinguishable without red and
// green.
func lineColors() []string { return []string{"#0550ae", "#b35900", "#1a7f64", "#8250df"} }

// logScale maps values above 0 to a length, by powers of ten.
type logScale struct{ low, high, from, to float64 }

// decades returns a scale that includes all values, with a power of ten at both ends.
func decades(values []float64, from, to float64) logScale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v > 0 {
			low, high = min(low, v), max(high, v)
		}
	}
	low, high = math.Floor(math.Log10(low)+1e-9), math.Ceil(math.Log10(high)-1e-9)
	if high <= low {
		high = low + 1
	}
	return logScale{low, high, from, to}
}

func (s logScale) at(v float64) float64 {
	return s.from + (math.Log10(v)-s.low)/(s.high-s.low)*(s.to-s.from)
}

// ticks returns the powers of ten.
func (s logScale) ticks() []float64 {
	var all []float64
	for e := s.low; e <= s.high+1e-9; e++ {
		all = append(all, math.Pow(10, e))
	}
	return all
}
