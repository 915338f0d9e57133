package main

import (
	"fmt"
	"slices"
)

// figure is a quantity that must not grow.
type figure struct {
	name   string
	of     func(sample) float64
	unit   float64 // divisor for display
	suffix string
	allow  float64 // tolerated growth over the whole run
	part   float64 // or this fraction of its median, if that is more
	end    bool    // it returns to its baseline, within allow, at the end
}

var figures = []figure{
	{"live heap", func(s sample) float64 { return float64(s.Heap) }, 1 << 20, "MiB", 1 << 20, 0.05, true},
	{"resident", func(s sample) float64 { return float64(s.RSS) }, 1 << 20, "MiB", 16 << 20, 0.15, false}, // the garbage collector decides when it is released
	{"goroutines", func(s sample) float64 { return float64(s.Goroutines) }, 1, "", 0.9, 0, true},
	{"descriptors", func(s sample) float64 { return float64(s.Descriptors) }, 1, "", 0.9, 0, true},
	{"children", func(s sample) float64 { return float64(s.Children) }, 1, "", 0.9, 0, true},
	{"files", func(s sample) float64 { return float64(s.Files) }, 1, "", 2.9, 0, false},
}

// judged is a figure with its evaluation.
type judged struct {
	figure
	first, median, last, least, most float64 // after the warm-up
	grown                            float64 // by the slope, over the evaluated time
	baseline, after                  float64
	wrong                            string // "" if it is flat
}

// judge evaluates the samples after the first quarter, in which caches fill. Growth
// is the median of the slopes between all pairs of samples, which is robust against
// single peaks, times the time between the first and the last.
func judge(samples []sample, baseline, end sample) (all []judged) {
	samples = samples[len(samples)/4:]
	if len(samples) > 1000 { // thinned evenly, because the number of pairs is quadratic
		thin := make([]sample, 1000)
		for i := range thin {
			thin[i] = samples[i*len(samples)/len(thin)]
		}
		samples = thin
	}
	for _, f := range figures {
		j := judged{figure: f, baseline: f.of(baseline), after: f.of(end)}
		if len(samples) < 2 {
			j.wrong = f.name + ": too few samples"
			all = append(all, j)
			continue
		}
		values := make([]float64, len(samples))
		for i, s := range samples {
			values[i] = f.of(s)
		}
		j.first, j.last = values[0], values[len(values)-1]
		sorted := slices.Sorted(slices.Values(values))
		j.least, j.median, j.most = sorted[0], sorted[len(sorted)/2], sorted[len(sorted)-1]
		if j.most < 0 {
			continue // not available on this system
		}
		j.grown = slope(samples, values) * (samples[len(samples)-1].Seconds - samples[0].Seconds)
		switch allowed := max(f.allow, f.part*j.median); {
		case j.grown > allowed:
			j.wrong = fmt.Sprintf("%s grew by %s, from %s to %s", f.name, f.show(j.grown), f.show(j.first), f.show(j.last))
		case f.end && j.after-j.baseline > allowed:
			j.wrong = fmt.Sprintf("%s: %s are left after the run; there were %s before", f.name, f.show(j.after), f.show(j.baseline))
		}
		all = append(all, j)
	}
	return all
}

// slope is the Theil–Sen estimator, in units per second.
func slope(samples []sample, values []float64) float64 {
	slopes := make([]float64, 0, len(values)*(len(values)-1)/2)
	for i := range values {
		for k := range i {
			if t := samples[i].Seconds - samples[k].Seconds; t > 0 {
				slopes = append(slopes, (values[i]-values[k])/t)
			}
		}
	}
	if len(slopes) == 0 {
		return 0
	}
	slices.Sort(slopes)
	return slopes[len(slopes)/2]
}

func (f figure) show(v float64) string {
	if f.unit > 1 {
		return fmt.Sprintf("%.2f %s", v/f.unit, f.suffix)
	}
	return fmt.Sprintf("%.1f", v)
}
