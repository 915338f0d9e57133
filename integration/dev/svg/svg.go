// Package svg draws the pictures of the development programs as SVG images: texts, lines, rectangles
// and dots on a white ground. It knows neither figures nor scales.
package svg

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// Canvas is an SVG image under construction. Its background is white in every theme of a page, so
// that its colours remain distinguishable.
type Canvas struct {
	Width, Height float64
	body          strings.Builder
}

// Anchor is the point of a text that its position refers to.
type Anchor string

// The anchors.
const (
	Start  Anchor = "start"
	Middle Anchor = "middle"
	End    Anchor = "end"
)

// Text writes a text. more is added to the attributes of its element.
func (c *Canvas) Text(x, y float64, at Anchor, size float64, color, text string, more string) {
	var escaped strings.Builder
	if err := xml.EscapeText(&escaped, []byte(text)); err != nil {
		panic(err) // a strings.Builder never fails
	}
	fmt.Fprintf(&c.body, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%g\" fill=\"%s\"%s>%s</text>\n", x, y, at, size, color, more, escaped.String())
}

// Line draws a line. more is added to the attributes of its element.
func (c *Canvas) Line(x1, y1, x2, y2, width float64, color, more string) {
	fmt.Fprintf(&c.body, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"%g\"%s/>\n", x1, y1, x2, y2, color, width, more)
}

// Rect draws a filled rectangle.
func (c *Canvas) Rect(x, y, width, height float64, color string) {
	fmt.Fprintf(&c.body, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", x, y, width, height, color)
}

// Dot draws a dot.
func (c *Canvas) Dot(x, y float64, color string) {
	fmt.Fprintf(&c.body, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n", x, y, color)
}

// Path draws a line through points.
func (c *Canvas) Path(points [][2]float64, color string) {
	var d strings.Builder
	for i, p := range points {
		fmt.Fprintf(&d, "%s%.1f %.1f", map[bool]string{true: "M", false: " L"}[i == 0], p[0], p[1])
	}
	fmt.Fprintf(&c.body, "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n", d.String(), color)
}

// String returns the SVG. title is its accessible name.
func (c *Canvas) String(title string) string {
	var escaped strings.Builder
	if err := xml.EscapeText(&escaped, []byte(title)); err != nil {
		panic(err) // a strings.Builder never fails
	}
	return fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" font-family=\"system-ui, 'DejaVu Sans', Arial, sans-serif\">\n"+
		"<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n%s</svg>\n", c.Width, c.Height, c.Width, c.Height, escaped.String(), c.body.String())
}
