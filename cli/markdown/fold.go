package markdown

import (
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/theme"
)

// fold wraps text at blanks into lines of at most columns; words that are wider than
// a line are split. Consecutive blanks count as one, except in code.
func fold(text []span, columns int) []string {
	f := wrapper{columns: max(columns, 1)}
	for _, s := range text {
		for i, line := range strings.Split(s.text, "\n") {
			if i > 0 {
				f.breakLine()
			}
			f.words(line, s.style)
		}
	}
	f.word()
	if f.used > 0 || len(f.lines) == 0 {
		f.endLine()
	}
	return f.lines
}

// wrapper wraps spans.
type wrapper struct {
	columns int
	lines   []string

	current []span // the open line
	used    int    // its columns

	pending      []span // the open word
	pendingWidth int
	blank        bool        // a blank precedes it
	blankStyle   theme.Style // the style of the blank
}

// words adds a piece of text without line feeds.
func (f *wrapper) words(text string, style theme.Style) {
	for text != "" {
		i := strings.IndexAny(text, " \t")
		if i != 0 {
			word := text
			if i > 0 {
				word = text[:i]
			}
			f.pending = append(f.pending, span{word, style})
			f.pendingWidth += display.Width(word)
			text = text[len(word):]
			continue
		}
		f.word()
		f.blank, f.blankStyle = true, style
		text = strings.TrimLeft(text, " \t")
	}
}

// word ends the open word and adds it to the line or the next one.
func (f *wrapper) word() {
	if len(f.pending) == 0 {
		return
	}
	blank := 0
	if f.blank && f.used > 0 {
		blank = 1
	}
	switch {
	case f.used+blank+f.pendingWidth <= f.columns:
	case f.used > 0:
		f.endLine()
		blank = 0
	}
	if blank == 1 {
		f.put(" ", f.blankStyle, 1)
	}
	for _, s := range f.pending {
		f.piece(s)
	}
	f.pending, f.pendingWidth, f.blank = f.pending[:0], 0, false
}

// piece adds a piece of a word to the line and splits it if it does not fit.
func (f *wrapper) piece(s span) {
	for s.text != "" {
		head, rest := display.Split(s.text, f.columns-f.used)
		width := display.Width(head)
		if f.used > 0 && f.used+width > f.columns {
			f.endLine()
			continue
		}
		f.put(head, s.style, width)
		if rest != "" {
			f.endLine()
		}
		s.text = rest
	}
}

func (f *wrapper) put(text string, style theme.Style, width int) {
	f.used += width
	if n := len(f.current); n > 0 && f.current[n-1].style == style {
		f.current[n-1].text += text
		return
	}
	f.current = append(f.current, span{text, style})
}

// breakLine ends the line at a line break of the source.
func (f *wrapper) breakLine() {
	f.word()
	f.endLine()
	f.blank = false
}

func (f *wrapper) endLine() {
	var b strings.Builder
	for _, s := range f.current {
		b.WriteString(s.style.Render(s.text))
	}
	f.lines = append(f.lines, b.String())
	f.current, f.used = f.current[:0], 0
}
