package main

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/integration/dev/svg"
)

// Plot is a plot of a run.
type Plot struct {
	File  string
	Title string
	Group string // key of its section
	SVG   string
}

// growthPlots are the plots of figures against a size, by the key in Growth.Plot.
func growthPlots() []struct{ Key, Group, Title, X, Y string } {
	return []struct{ Key, Group, Title, X, Y string }{
		{"policy", "policy", "A decision, by the number of rules", "rules", "median time of a decision"},
		{"registry", "registry", "The registry, by the number of tools", "tools", "median time"},
		{"sessions", "sessions", "Resident memory, by the number of Configs", "Configs in one process", "resident memory"},
		{"creation", "sessions", "Creation of one Config, by their number", "Configs in one process", "time for each"},
	}
}

// drawPlots draws the plots for which the results have figures: the ratios of each group, and
// growth.
func drawPlots(results []Result) []Plot {
	var all []Plot
	for _, g := range groups() {
		if p, ok := ratioPlot(g, results); ok {
			all = append(all, p)
		}
		for _, growth := range growthPlots() {
			if growth.Group != g.Key {
				continue
			}
			if image, ok := growthPlot(growth.Key, growth.Title, growth.X, growth.Y, results); ok {
				all = append(all, Plot{"growth-" + growth.Key + ".svg", growth.Title, g.Key, image})
			}
		}
	}
	return all
}

// bar is a ratio in a plot.
type bar struct {
	label  string
	ratio  Ratios
	budget float64 // 0: none
}

// ratioPlot draws the ratio of fettle's figure to that of each other contestant.
func ratioPlot(g Group, results []Result) (Plot, bool) {
	var bars []bar
	values := []float64{0.5, 2} // the scale extends to both sides of 1
	for _, r := range results {
		if r.group() != g.Key {
			continue
		}
		for _, o := range r.Outcomes {
			if !o.Measured() || o.Role == Ours || o.Ratio.Least <= 0 || o.Ratio.Median <= 0 {
				continue
			}
			b := bar{label: plain(r.Title) + " ÷ " + o.Name, ratio: o.Ratio}
			for _, v := range r.Verdicts {
				if v.Kind == Ratio && v.Against == o.Name {
					b.budget = v.Most
					values = append(values, v.Most)
				}
			}
			bars, values = append(bars, b), append(values, o.Ratio.Least, o.Ratio.Median)
		}
	}
	if len(bars) == 0 || g.Key == "noise" {
		return Plot{}, false
	}
	const left, right, top, step = 540.0, 70.0, 74.0, 24.0
	c := &svg.Canvas{Width: 1060, Height: top + step*float64(len(bars)) + 52}
	bottom := c.Height - 46
	scale := decades(values, left, c.Width-right)
	title := "fettle compared with other contestants: " + plain(g.Title)
	c.Text(16, 26, svg.Start, 16, ink, title, ` font-weight="600"`)
	c.Text(16, 46, svg.Start, 12, ink, "bar: ratio of the medians; dot: ratio of the minima; below 1 × fettle takes less; red: the budget", "")
	for _, t := range scale.ticks() {
		c.Line(scale.at(t), top-8, scale.at(t), bottom, 1, faint, "")
		c.Text(scale.at(t), bottom+16, svg.Middle, 11, ink, times(t), "")
	}
	c.Text((left+c.Width-right)/2, bottom+36, svg.Middle, 12, ink, "fettle's figure ÷ the contestant's (logarithmic)", "")
	c.Line(scale.at(1), top-8, scale.at(1), bottom, 1.5, ink, "")
	for i, b := range bars {
		y := top + step*float64(i)
		color := quicker
		if b.ratio.Median > 1 {
			color = slower
		}
		one, at := scale.at(1), scale.at(b.ratio.Median)
		c.Rect(min(one, at), y, max(1, max(one, at)-min(one, at)), 15, color)
		c.Dot(scale.at(b.ratio.Least), y+7.5, ink)
		c.Text(left-10, y+12, svg.End, 12, ink, clipped(b.label, 78), "")
		c.Text(max(one, at, scale.at(b.ratio.Least), scale.at(max(b.budget, 1)))+9, y+12, svg.Start, 11, ink, times(b.ratio.Median), "")
		if b.budget > 0 {
			c.Line(scale.at(b.budget), y-4, scale.at(b.budget), y+19, 3, budgeted, "")
		}
	}
	return Plot{"ratios-" + g.Key + ".svg", title, g.Key, c.String(title)}, true
}

func clipped(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// point is a figure in a plot of growth.
type point struct {
	x      float64
	stats  Stats
	budget float64 // 0: none
}

// growthPlot draws fettle's medians against the size, with the budgets.
func growthPlot(key, title, x, y string, results []Result) (string, bool) {
	lines := map[string][]point{}
	var names []string
	var xs, ys []float64
	unit := Time
	for _, r := range results {
		ours := r.ours()
		if r.Growth == nil || r.Growth.Plot != key || ours == nil || ours.Stats.Median <= 0 {
			continue
		}
		unit = r.unit()
		p := point{x: r.Growth.X, stats: ours.Stats}
		for _, v := range r.Verdicts {
			if v.Kind == Absolute {
				p.budget = v.Most
				ys = append(ys, v.Most)
			}
		}
		if !slices.Contains(names, r.Growth.Line) {
			names = append(names, r.Growth.Line)
		}
		lines[r.Growth.Line] = append(lines[r.Growth.Line], p)
		xs, ys = append(xs, p.x), append(ys, ours.Stats.P10, ours.Stats.P90)
	}
	if len(xs) < 2 {
		return "", false
	}
	const left, right, top, bottom = 90.0, 40.0, 60.0, 360.0
	c := &svg.Canvas{Width: 760, Height: 440 + 20*float64(len(names))}
	across, up := decades(xs, left, c.Width-right), decades(ys, bottom, top)
	c.Text(16, 26, svg.Start, 16, ink, title, ` font-weight="600"`)
	for _, t := range across.ticks() {
		c.Line(across.at(t), top, across.at(t), bottom, 1, faint, "")
		c.Text(across.at(t), bottom+18, svg.Middle, 11, ink, thousands(int(t+0.5)), "")
	}
	for _, t := range up.ticks() {
		c.Line(left, up.at(t), c.Width-right, up.at(t), 1, faint, "")
		c.Text(left-8, up.at(t)+4, svg.End, 11, ink, figure(t, unit), "")
	}
	c.Line(left, bottom, c.Width-right, bottom, 1.5, ink, "")
	c.Line(left, top, left, bottom, 1.5, ink, "")
	c.Text((left+c.Width-right)/2, bottom+40, svg.Middle, 12, ink, x+" (logarithmic)", "")
	c.Text(20, (top+bottom)/2, svg.Middle, 12, ink, y+" (logarithmic)", fmt.Sprintf(` transform="rotate(-90 20 %.1f)"`, (top+bottom)/2))
	colors := lineColors()
	budgets := false
	for i, name := range names {
		color := colors[i%len(colors)]
		var path [][2]float64
		for _, p := range lines[name] {
			at := across.at(p.x)
			path = append(path, [2]float64{at, up.at(p.stats.Median)})
			c.Line(at, up.at(p.stats.P10), at, up.at(p.stats.P90), 1.5, color, "")
			c.Dot(at, up.at(p.stats.Median), color)
			if p.budget > 0 {
				budgets = true
				c.Line(at-12, up.at(p.budget), at+12, up.at(p.budget), 3, budgeted, "")
			}
		}
		c.Path(path, color)
		legend := bottom + 66 + 20*float64(i)
		c.Line(left, legend-4, left+24, legend-4, 3, color, "")
		last := lines[name][len(lines[name])-1]
		c.Text(left+32, legend, svg.Start, 12, ink, fmt.Sprintf("%s (%s at %s)", plain(name), figure(last.stats.Median, unit), thousands(int(last.x))), "")
	}
	if budgets {
		legend := bottom + 66 + 20*float64(len(names))
		c.Line(left, legend-4, left+24, legend-4, 3, budgeted, "")
		c.Text(left+32, legend, svg.Start, 12, ink, "budget; vertical lines: first to ninth decile of the turns", "")
	}
	return c.String(title), true
}
