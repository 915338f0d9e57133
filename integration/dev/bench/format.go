package main

import (
	"fmt"
	"math"
	"strings"
)

// figure formats a value with its unit and about three digits.
func figure(v float64, unit Unit) string {
	scaled := func(names []string, step float64) string {
		i, sign := 0, ""
		if v < 0 {
			sign, v = "−", -v
		}
		for i < len(names)-1 && v >= step*0.9995 {
			v, i = v/step, i+1
		}
		return sign + digits(v) + " " + names[i]
	}
	switch unit {
	case Bytes:
		return scaled([]string{"B", "kB", "MB", "GB"}, 1000)
	case Count:
		return digits(v)
	default:
		return scaled([]string{"ns", "µs", "ms", "s"}, 1000)
	}
}

// digits formats a number ≥ 0 with three significant digits, or more if its integer part has more.
func digits(v float64) string {
	switch {
	case v == math.Trunc(v) && v < 1e6, v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	case v >= 0.0995 || v == 0:
		return fmt.Sprintf("%.2f", v)
	default:
		decimals := 2 - int(math.Floor(math.Log10(v)))
		return strings.TrimRight(fmt.Sprintf("%.*f", decimals, v), "0")
	}
}

// times formats a ratio.
func times(r float64) string {
	if r == 0 {
		return "–"
	}
	return digits(r) + " ×"
}

// percent formats a fraction, as the ± of a figure.
func percent(part float64) string {
	if part > 0 && part < 0.01 {
		return "<1 %"
	}
	return fmt.Sprintf("%.0f %%", part*100)
}

// limit formats the limit of a budget, and found the measured value.
func (v *Verdict) limit(unit Unit) string {
	switch v.Kind {
	case Ratio:
		return times(v.Most) + " " + v.Against
	case Difference:
		return figure(v.Most, unit) + " more than " + v.Against
	default:
		return figure(v.Most, unit)
	}
}

func (v *Verdict) found(unit Unit, value float64) string {
	switch {
	case v.Met == MetUndecided && v.Found == (Ratios{}):
		return "–"
	case v.Kind == Ratio:
		return times(value)
	default:
		return figure(value, unit)
	}
}
