package theme

import (
	"image/color"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
)

// colourless returns a theme that uses bold, faint and the like instead of colours.
func colourless() Theme {
	return Theme{
		Strong:    Style{Bold: true},
		Emphasis:  Style{Italic: true},
		Dim:       Style{Faint: true},
		Accent:    Style{Bold: true},
		User:      Style{Bold: true},
		Assistant: Style{Bold: true},
		Thought:   Style{Faint: true, Italic: true},
		Tool:      Style{Bold: true},
		Heading:   Style{Bold: true},
		Link:      Style{Underline: true},
		Quote:     Style{Faint: true},
		Added:     Style{Bold: true},
		Removed:   Style{Faint: true},
		Hunk:      Style{Faint: true},
		Success:   Style{Bold: true},
		Warning:   Style{Bold: true},
		Error:     Style{Bold: true, Reverse: true},
		Border:    Style{Faint: true},
		Selected:  Style{Reverse: true},
	}
}

// palette holds the colours that differ between the coloured themes.
type palette struct {
	accent, user, assistant, tool, heading, code, link, added, removed, hunk, success, warning, failure color.Color
	dim                                                                                                 color.Color // nil: faint
}

func (p palette) theme() Theme {
	t := colourless()
	if p.dim != nil {
		for _, s := range []*Style{&t.Dim, &t.Thought, &t.Quote, &t.Border} {
			s.Faint, s.Foreground = false, p.dim
		}
	}
	t.Accent.Foreground = p.accent
	t.User.Foreground = p.user
	t.Assistant.Foreground = p.assistant
	t.Tool.Foreground = p.tool
	t.Heading.Foreground = p.heading
	t.Code.Foreground = p.code
	t.Link.Foreground = p.link
	t.Added = Style{Foreground: p.added}
	t.Removed = Style{Foreground: p.removed}
	t.Hunk = Style{Foreground: p.hunk}
	t.Success = Style{Foreground: p.success}
	t.Warning = Style{Foreground: p.warning}
	t.Error = Style{Foreground: p.failure, Bold: true}
	return t
}

// sixteen returns the theme with the terminal's own colours, which fit its
// background.
func sixteen() Theme {
	return palette{
		accent: lipgloss.Cyan, user: lipgloss.Blue, assistant: lipgloss.Magenta, tool: lipgloss.Cyan, heading: lipgloss.Blue,
		code: lipgloss.Yellow, link: lipgloss.Cyan, added: lipgloss.Green, removed: lipgloss.Red, hunk: lipgloss.Cyan,
		success: lipgloss.Green, warning: lipgloss.Yellow, failure: lipgloss.Red,
	}.theme()
}

func dark() Theme {
	return palette{
		accent: lipgloss.Color("#7dcfff"), user: lipgloss.Color("#8ab4f8"), assistant: lipgloss.Color("#c9a7f5"), tool: lipgloss.Color("#7dcfff"),
		heading: lipgloss.Color("#8ab4f8"), code: lipgloss.Color("#e5c07b"), link: lipgloss.Color("#73c7c7"),
		added: lipgloss.Color("#8fd18f"), removed: lipgloss.Color("#f28b82"), hunk: lipgloss.Color("#73c7c7"),
		success: lipgloss.Color("#8fd18f"), warning: lipgloss.Color("#f5c169"), failure: lipgloss.Color("#f28b82"), dim: lipgloss.Color("#8a8f98"),
	}.theme()
}

func light() Theme {
	return palette{
		accent: lipgloss.Color("#005f87"), user: lipgloss.Color("#1a56b0"), assistant: lipgloss.Color("#7030a0"), tool: lipgloss.Color("#005f87"),
		heading: lipgloss.Color("#1a56b0"), code: lipgloss.Color("#875f00"), link: lipgloss.Color("#006d6d"),
		added: lipgloss.Color("#1a7f37"), removed: lipgloss.Color("#b3261e"), hunk: lipgloss.Color("#006d6d"),
		success: lipgloss.Color("#1a7f37"), warning: lipgloss.Color("#8f5a00"), failure: lipgloss.Color("#b3261e"), dim: lipgloss.Color("#666b73"),
	}.theme()
}

// shown converts the colours of a theme to those of a terminal.
func (t Theme) shown(p colorprofile.Profile) Theme {
	for _, s := range []*Style{
		&t.Text, &t.Strong, &t.Emphasis, &t.Dim, &t.Accent, &t.User, &t.Assistant, &t.Thought, &t.Tool, &t.Heading, &t.Code,
		&t.Link, &t.Quote, &t.Added, &t.Removed, &t.Hunk, &t.Success, &t.Warning, &t.Error, &t.Border, &t.Selected,
	} {
		if s.Foreground != nil {
			s.Foreground = p.Convert(s.Foreground)
		}
		if s.Background != nil {
			s.Background = p.Convert(s.Background)
		}
	}
	return t
}
