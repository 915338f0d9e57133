package markdown

import (
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/theme"
)

// fold breaks text into lines that are no wider than so many columns, at blanks;
// words that are wider than a line are broken anywhere. Blanks side by side count
// as one, except in code.
func fold(text []span, columns int) []string {
	f := folder{columns: max(columns, 1)}
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

// directory folds.
type folder struct {
	columns int
	lines   []string

	current []span // of the line that is open
	used    int    // columns of it

	pending      []span // the word that is open
	pendingWidth int
	blank        bool        // a blank stands before it
	blankStyle   theme.Style // and looks so
}

// words takes a piece of text without line feeds.
func (f *folder) words(text string, style theme.Style) {
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

// word ends the open word, and puts it into the line or the next one.
func (f *folder) word() {
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

// piece puts a piece of a word into the line, and breaks it where it does not fit.
func (f *folder) piece(s span) {
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

func (f *folder) put(text string, style theme.Style, width int) {
	f.used += width
	if n := len(f.current); n > 0 && f.current[n-1].style == style {
		f.current[n-1].text += text
		return
	}
	f.current = append(f.current, span{text, style})
}

// breakLine ends the line as the source does.
func (f *folder) breakLine() {
	f.word()
	f.endLine()
	f.blank = false
}

func (f *folder) endLine() {
	var b strings.Builder
	for _, s := range f.current {
		b.WriteString(s.style.Render(s.text))
	}
	f.lines = append(f.lines, b.String())
	f.current, f.used = f.current[:0], 0
}
