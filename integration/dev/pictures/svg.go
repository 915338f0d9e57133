package main

import (
	"fmt"
	"html"
	"image/color"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
)

// cell is a character and its colours; "" as the text continues the cell before.
type cell struct {
	text                            string
	fg, bg                          string // #rrggbb; "": of the terminal
	bold, italic, underline, struck bool
}

// style returns the cell without its text.
func (c cell) style() cell {
	c.text = ""
	return c
}

// The size of a cell, of the font, and of the frame around the screen, in pixels.
const (
	cellWidth  = 8.4
	cellHeight = 18
	fontSize   = 14
	padding    = 14
	titleBar   = 30
)

// The colours of the window.
const (
	paper = "#15181f"
	ink   = "#d5d8e0"
	bar   = "#232833"
)

// frame returns the screen, in which home has its name in pictures.
func (t *terminal) frame(home string) frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	var f frame
	for y := range t.screen.Height() {
		line := make([]cell, t.screen.Width())
		var text strings.Builder
		for x := range line {
			line[x] = cellOf(t.screen.CellAt(x, y))
			text.WriteString(line[x].text)
		}
		rename(line, home)
		f.lines = append(f.lines, line)
	}
	at := t.screen.CursorPosition()
	f.cursor.x, f.cursor.y, f.hidden = at.X, at.Y, t.screen.CursorHidden()
	return f
}

// rename replaces home in a line by its name in pictures.
func rename(line []cell, home string) {
	for x := 0; x+len(home) <= len(line); x++ {
		same := true
		for i := range home {
			same = same && line[x+i].text == home[i:i+1]
		}
		for i := range homeShown {
			if same {
				line[x+i].text = homeShown[i : i+1]
			}
		}
	}
}

func cellOf(c *uv.Cell) cell {
	if c == nil {
		return cell{text: " "}
	}
	s := c.Style
	out := cell{
		text: c.Content, fg: hex(s.Fg), bg: hex(s.Bg),
		bold: s.Attrs&uv.AttrBold != 0, italic: s.Attrs&uv.AttrItalic != 0,
		underline: s.Underline != 0, struck: s.Attrs&uv.AttrStrikethrough != 0,
	}
	if c.Width > 0 && out.text == "" {
		out.text = " "
	}
	if s.Attrs&uv.AttrReverse != 0 {
		out.fg, out.bg = or(out.bg, paper), or(out.fg, ink)
	}
	if s.Attrs&uv.AttrFaint != 0 {
		out.fg = or(out.fg, "#8b90a0")
	}
	return out
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// hex returns a colour as #rrggbb, "" for nil.
func hex(c color.Color) string {
	if c == nil {
		return ""
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}

// picture returns the frames as an SVG document. Several frames follow each other without end;
// a viewer that plays no animations shows the last one.
func picture(s scene, frames []frame) string {
	width, height := float64(s.columns)*cellWidth+2*padding, s.rows*cellHeight+2*padding+titleBar
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d" fill="%s" xml:space="preserve" role="img" aria-labelledby="about">`+"\n", width, height, width, height, ink)
	fmt.Fprintf(&b, `<title id="about">%s</title>`+"\n", html.EscapeString(s.about))
	b.WriteString("<style>\ntext{font:" + fmt.Sprint(fontSize) + "px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}\n" +
		".b{font-weight:bold}.i{font-style:italic}.u{text-decoration:underline}.s{text-decoration:line-through}\n")
	writeAnimation(&b, frames)
	b.WriteString("</style>\n")
	fmt.Fprintf(&b, `<rect width="%.0f" height="%d" rx="9" fill="%s"/><path d="M0 %d V9 a9 9 0 0 1 9 -9 H%.0f a9 9 0 0 1 9 9 V%d Z" fill="%s"/>`+"\n", width, height, paper, titleBar, width-9, titleBar, bar)
	for i, c := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="%d" r="6" fill="%s"/>`, 18+20*i, titleBar/2, c)
	}
	b.WriteString("\n")
	for i, f := range frames {
		fmt.Fprintf(&b, `<g class="f%d" transform="translate(%d %d)">`+"\n", i, padding, padding+titleBar)
		writeFrame(&b, f)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// writeAnimation writes the rules that show one frame after the other.
func writeAnimation(b *strings.Builder, frames []frame) {
	if len(frames) < 2 {
		return
	}
	total, at := 0, 0
	for _, f := range frames {
		total += f.hold
	}
	b.WriteString("@media(prefers-reduced-motion:no-preference){\n")
	for i, f := range frames {
		from, to := percent(at, total), percent(at+f.hold, total)
		fmt.Fprintf(b, ".f%d{animation:f%d %ds step-end infinite}@keyframes f%d{0%%{visibility:%s}%s{visibility:visible}%s{visibility:hidden}}\n",
			i, i, total, i, map[bool]string{true: "visible", false: "hidden"}[i == 0], from, to)
		at += f.hold
	}
	b.WriteString("}\n")
	for i := range len(frames) - 1 {
		fmt.Fprintf(b, ".f%d{visibility:hidden}", i)
	}
	b.WriteString("\n")
}

func percent(part, total int) string { return fmt.Sprintf("%.2f%%", 100*float64(part)/float64(total)) }

// writeFrame writes the lines of a screen: backgrounds, then texts, in runs of one style.
func writeFrame(b *strings.Builder, f frame) {
	for y, line := range f.lines {
		for x := 0; x < len(line); {
			end := x + 1
			for end < len(line) && (line[end].text == "" || line[end].style() == line[x].style()) {
				end++
			}
			writeRun(b, x, y, line[x:end])
			x = end
		}
	}
	if !f.hidden {
		fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s" opacity=".7"/>`+"\n", float64(f.cursor.x)*cellWidth, f.cursor.y*cellHeight, cellWidth, cellHeight, ink)
	}
}

func writeRun(b *strings.Builder, x, y int, run []cell) {
	var text strings.Builder
	for _, c := range run {
		text.WriteString(c.text)
	}
	style := run[0]
	left, top := float64(x)*cellWidth, y*cellHeight
	if style.bg != "" {
		fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", left, top, float64(len(run))*cellWidth, cellHeight, style.bg)
	}
	blank := strings.TrimRight(text.String(), " ")
	if blank == "" && !style.underline {
		return
	}
	var class []string
	for _, c := range []struct {
		on   bool
		name string
	}{{style.bold, "b"}, {style.italic, "i"}, {style.underline, "u"}, {style.struck, "s"}} {
		if c.on {
			class = append(class, c.name)
		}
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%d" textLength="%.1f"`, left, top+cellHeight-5, float64(len(run))*cellWidth)
	if class != nil {
		fmt.Fprintf(b, ` class="%s"`, strings.Join(class, " "))
	}
	if style.fg != "" {
		fmt.Fprintf(b, ` fill="%s"`, style.fg)
	}
	fmt.Fprintf(b, ">%s</text>\n", html.EscapeString(text.String()))
}
