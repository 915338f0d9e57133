package main

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// canvas is an SVG image under construction. Its background is white in every theme of a page, so
// that its colours remain distinguishable.
type canvas struct {
	width, height float64
	body          strings.Builder
}

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

type anchor string

const (
	start  anchor = "start"
	middle anchor = "middle"
	end    anchor = "end"
)

func (c *canvas) text(x, y float64, at anchor, size float64, color, text string, more string) {
	var escaped strings.Builder
	if err := xml.EscapeText(&escaped, []byte(text)); err != nil {
		panic(err) // a strings.Builder never fails
	}
	fmt.Fprintf(&c.body, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%g\" fill=\"%s\"%s>%s</text>\n", x, y, at, size, color, more, escaped.String())
}

func (c *canvas) line(x1, y1, x2, y2, width float64, color, more string) {
	fmt.Fprintf(&c.body, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"%g\"%s/>\n", x1, y1, x2, y2, color, width, more)
}

func (c *canvas) rect(x, y, width, height float64, color string) {
	fmt.Fprintf(&c.body, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", x, y, width, height, color)
}

func (c *canvas) dot(x, y float64, color string) {
	fmt.Fprintf(&c.body, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n", x, y, color)
}

func (c *canvas) path(points [][2]float64, color string) {
	var d strings.Builder
	for i, p := range points {
		fmt.Fprintf(&d, "%s%.1f %.1f", map[bool]string{true: "M", false: " L"}[i == 0], p[0], p[1])
	}
	fmt.Fprintf(&c.body, "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n", d.String(), color)
}

// String returns the SVG. title is its accessible name.
func (c *canvas) String(title string) string {
	var escaped strings.Builder
	if err := xml.EscapeText(&escaped, []byte(title)); err != nil {
		panic(err) // a strings.Builder never fails
	}
	return fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" font-family=\"system-ui, 'DejaVu Sans', Arial, sans-serif\">\n"+
		"<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n%s</svg>\n", c.width, c.height, c.width, c.height, escaped.String(), c.body.String())
}

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
