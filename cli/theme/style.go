package theme

import (
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// Style is the appearance of text. The zero value leaves text unchanged. Styles are
// comparable values; callers may modify copies.
type Style struct {
	Foreground, Background                                 color.Color // nil: the terminal's own
	Bold, Faint, Italic, Underline, Strikethrough, Reverse bool
}

// Reset ends a style in a terminal.
const Reset = "\x1b[0m"

// Render returns text in the style. Each line starts and ends the style, so that
// lines can be separated. It does not pad or change the text, which must be safe for
// the terminal; see package display.
func (s Style) Render(text string) string {
	begin := s.begin()
	if begin == "" || text == "" {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + len(begin) + len(Reset))
	for line := range strings.Lines(text) {
		line, ended := strings.CutSuffix(line, "\n")
		if line != "" {
			b.WriteString(begin + line + Reset)
		}
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// On returns the style of a span inside text with the style base.
func (s Style) On(base Style) Style {
	if s.Foreground == nil {
		s.Foreground = base.Foreground
	}
	if s.Background == nil {
		s.Background = base.Background
	}
	s.Bold = s.Bold || base.Bold
	s.Faint = s.Faint || base.Faint
	s.Italic = s.Italic || base.Italic
	s.Underline = s.Underline || base.Underline
	s.Strikethrough = s.Strikethrough || base.Strikethrough
	s.Reverse = s.Reverse || base.Reverse
	return s
}

// Lipgloss returns the style for layouts with borders and padding.
func (s Style) Lipgloss() lipgloss.Style {
	l := lipgloss.NewStyle()
	if s.Foreground != nil {
		l = l.Foreground(s.Foreground)
	}
	if s.Background != nil {
		l = l.Background(s.Background)
	}
	for _, attribute := range []struct {
		on  bool
		set func(lipgloss.Style, bool) lipgloss.Style
	}{
		{s.Bold, lipgloss.Style.Bold}, {s.Faint, lipgloss.Style.Faint}, {s.Italic, lipgloss.Style.Italic},
		{s.Underline, lipgloss.Style.Underline}, {s.Strikethrough, lipgloss.Style.Strikethrough}, {s.Reverse, lipgloss.Style.Reverse},
	} {
		if attribute.on {
			l = attribute.set(l, true)
		}
	}
	return l
}

// begin returns the sequence that starts the style; "" for none.
func (s Style) begin() string {
	if s == (Style{}) {
		return ""
	}
	var a ansi.Style
	if s.Bold {
		a = a.Bold()
	}
	if s.Faint {
		a = a.Faint()
	}
	if s.Italic {
		a = a.Italic(true)
	}
	if s.Underline {
		a = a.Underline(true)
	}
	if s.Reverse {
		a = a.Reverse(true)
	}
	if s.Strikethrough {
		a = a.Strikethrough(true)
	}
	if s.Foreground != nil {
		a = a.ForegroundColor(s.Foreground)
	}
	if s.Background != nil {
		a = a.BackgroundColor(s.Background)
	}
	return a.String()
}
