package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/integration/dev/svg"
)

// table returns the curves with their exponents as a Markdown table.
func table(all []measured) string {
	var b strings.Builder
	b.WriteString("| curve | sizes | smallest | largest | exponent | what dominates the largest sizes |\n|---|---|---|---|---|---|\n")
	for _, m := range all {
		if len(m.points) == 0 {
			continue
		}
		first, last := m.points[0], m.points[len(m.points)-1]
		e := fmt.Sprintf("%.2f", m.exponent())
		if m.exponent() > steep {
			e = "**" + e + "**"
		}
		fmt.Fprintf(&b, "| %s | %s–%s %s | %s | %s | %s | %s |\n", m.name, thousands(first.n), thousands(last.n), m.unit, short(first.time), short(last.time), e, m.dominates)
	}
	return b.String()
}

// short formats a duration with three digits.
func short(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if d >= u.unit {
			return fmt.Sprintf("%.3g %s", float64(d)/float64(u.unit), u.name)
		}
	}
	return fmt.Sprintf("%d ns", d)
}

// thousands formats n with commas.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// writePlots draws the curves with the same kind of size into one picture.
func writePlots(dir string, all []measured) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var keys []string
	byPlot := map[string][]measured{}
	for _, m := range all {
		if byPlot[m.plot] == nil {
			keys = append(keys, m.plot)
		}
		byPlot[m.plot] = append(byPlot[m.plot], m)
	}
	for _, key := range keys {
		if err := os.WriteFile(filepath.Join(dir, "curve-"+key+".svg"), []byte(plot(key, byPlot[key])), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// The colours of a plot, distinguishable without red and green.
const (
	ink   = "#1f2328"
	faint = "#d0d7de"
)

func colors() []string { return []string{"#0550ae", "#b35900", "#1a7f64", "#8250df"} }

// axis maps powers of ten to a length.
type axis struct{ low, high, from, to float64 }

func (a axis) at(v float64) float64 {
	return a.from + (math.Log10(v)-a.low)/(a.high-a.low)*(a.to-a.from)
}

// plot draws time by size, on logarithmic axes.
func plot(unit string, all []measured) string {
	const left, right, top, bottom = 90.0, 40.0, 60.0, 360.0
	c := &svg.Canvas{Width: 760, Height: bottom + 66 + 20*float64(len(all))}
	across := axis{math.Inf(1), math.Inf(-1), left, c.Width - right}
	up := axis{math.Inf(1), math.Inf(-1), bottom, top}
	for _, m := range all {
		for _, p := range m.points {
			x, y := math.Log10(float64(p.n)), math.Log10(float64(max(p.time, 1)))
			across.low, across.high = min(across.low, x), max(across.high, x)
			up.low, up.high = min(up.low, math.Floor(y)), max(up.high, math.Ceil(y))
		}
	}
	across.high, up.high = max(across.high, across.low+1), max(up.high, up.low+1)
	title := "Processor time, by the number of " + unit
	c.Text(16, 26, svg.Start, 16, ink, title, ` font-weight="600"`)
	for e := math.Ceil(across.low); e <= across.high; e++ {
		x := across.at(math.Pow(10, e))
		c.Line(x, top, x, bottom, 1, faint, "")
		c.Text(x, bottom+18, svg.Middle, 11, ink, thousands(int(math.Pow(10, e)+0.5)), "")
	}
	for e := up.low; e <= up.high; e++ {
		y := up.at(math.Pow(10, e))
		c.Line(left, y, c.Width-right, y, 1, faint, "")
		c.Text(left-8, y+4, svg.End, 11, ink, short(time.Duration(math.Pow(10, e))), "")
	}
	c.Text((left+c.Width-right)/2, bottom+40, svg.Middle, 12, ink, unit+" (logarithmic)", "")
	for i, m := range all {
		color := colors()[i%len(colors())]
		var path [][2]float64
		for _, p := range m.points {
			x, y := across.at(float64(p.n)), up.at(float64(max(p.time, 1)))
			path = append(path, [2]float64{x, y})
			c.Dot(x, y, color)
		}
		c.Path(path, color)
		legend := bottom + 66 + 20*float64(i)
		c.Line(left, legend-4, left+24, legend-4, 3, color, "")
		c.Text(left+32, legend, svg.Start, 12, ink, fmt.Sprintf("%s: exponent %.2f", m.name, m.exponent()), "")
	}
	return c.String(title)
}
