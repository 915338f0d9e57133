package theme

import (
	"image/color"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
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

		AddedLine:   Style{Bold: true},
		AddedWord:   Style{Bold: true, Underline: true},
		RemovedLine: Style{Faint: true},
		RemovedWord: Style{Faint: true, Underline: true},
		Syntax:      Syntax{Comment: Style{Faint: true}},
	}
}

// palette holds the colours that differ between the coloured themes.
type palette struct {
	accent, user, assistant, tool, heading, code, link, added, removed, hunk, success, warning, failure color.Color
	dim                                                                                                 color.Color // nil: faint
	syntax                                                                                              syntaxColours
	lines                                                                                               *lineColours // nil: no backgrounds
}

// syntaxColours are the colours of [Syntax]; a nil comment is faint.
type syntaxColours struct {
	keyword, typ, function, builtin, str, number, comment, operator, key, tag color.Color
}

// lineColours are the backgrounds of changed lines and words. Of 256 colours the
// nearest ones would be greys, so that such terminals have their own, and underlined
// words.
type lineColours struct {
	added, addedWord, removed, removedWord color.Color
	added256, removed256                   ansi.IndexedColor
}

func (p palette) theme(profile colorprofile.Profile) Theme {
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
	t.Syntax = p.syntax.styles()
	t.AddedLine, t.RemovedLine = t.Added, t.Removed
	t.AddedWord = Style{Foreground: p.added, Bold: true, Underline: true}
	t.RemovedWord = Style{Foreground: p.removed, Bold: true, Underline: true}
	if c := p.lines; c != nil && profile == colorprofile.TrueColor {
		t.AddedLine, t.AddedWord = Style{Background: c.added}, Style{Background: c.addedWord}
		t.RemovedLine, t.RemovedWord = Style{Background: c.removed}, Style{Background: c.removedWord}
	} else if c != nil {
		t.AddedLine, t.AddedWord = Style{Background: c.added256}, Style{Background: c.added256, Bold: true, Underline: true}
		t.RemovedLine, t.RemovedWord = Style{Background: c.removed256}, Style{Background: c.removed256, Bold: true, Underline: true}
	}
	return t.shown(profile)
}

func (c syntaxColours) styles() Syntax {
	return Syntax{
		Keyword: Style{Foreground: c.keyword}, Type: Style{Foreground: c.typ}, Function: Style{Foreground: c.function},
		Builtin: Style{Foreground: c.builtin}, String: Style{Foreground: c.str}, Number: Style{Foreground: c.number},
		Comment: Style{Foreground: c.comment, Italic: c.comment != nil, Faint: c.comment == nil}, Operator: Style{Foreground: c.operator},
		Key: Style{Foreground: c.key}, Tag: Style{Foreground: c.tag},
	}
}

// sixteen returns the theme with the terminal's own colours, which fit its
// background.
func sixteen() Theme {
	return palette{
		accent: lipgloss.Cyan, user: lipgloss.Blue, assistant: lipgloss.Magenta, tool: lipgloss.Cyan, heading: lipgloss.Blue,
		code: lipgloss.Yellow, link: lipgloss.Cyan, added: lipgloss.Green, removed: lipgloss.Red, hunk: lipgloss.Cyan,
		success: lipgloss.Green, warning: lipgloss.Yellow, failure: lipgloss.Red,
		syntax: syntaxColours{
			keyword: lipgloss.Magenta, typ: lipgloss.Cyan, function: lipgloss.Blue, builtin: lipgloss.Cyan, str: lipgloss.Green,
			number: lipgloss.Yellow, key: lipgloss.Cyan, tag: lipgloss.Blue,
		},
	}.theme(colorprofile.ANSI)
}

func dark(p colorprofile.Profile) Theme {
	return palette{
		accent: lipgloss.Color("#7dcfff"), user: lipgloss.Color("#8ab4f8"), assistant: lipgloss.Color("#c9a7f5"), tool: lipgloss.Color("#7dcfff"),
		heading: lipgloss.Color("#8ab4f8"), code: lipgloss.Color("#e5c07b"), link: lipgloss.Color("#73c7c7"),
		added: lipgloss.Color("#8fd18f"), removed: lipgloss.Color("#f28b82"), hunk: lipgloss.Color("#73c7c7"),
		success: lipgloss.Color("#8fd18f"), warning: lipgloss.Color("#f5c169"), failure: lipgloss.Color("#f28b82"), dim: lipgloss.Color("#8a8f98"),
		syntax: syntaxColours{
			keyword: lipgloss.Color("#c9a7f5"), typ: lipgloss.Color("#e5c07b"), function: lipgloss.Color("#8ab4f8"), builtin: lipgloss.Color("#7dcfff"),
			str: lipgloss.Color("#a5d6a7"), number: lipgloss.Color("#f0b088"), comment: lipgloss.Color("#a0a6ae"), operator: lipgloss.Color("#9fb4c8"),
			key: lipgloss.Color("#73c7c7"), tag: lipgloss.Color("#f28b82"),
		},
		lines: &lineColours{
			added: lipgloss.Color("#14301c"), addedWord: lipgloss.Color("#1f5c31"), removed: lipgloss.Color("#3c1618"), removedWord: lipgloss.Color("#742a2e"),
			added256: 22, removed256: 52,
		},
	}.theme(p)
}

func light(p colorprofile.Profile) Theme {
	return palette{
		accent: lipgloss.Color("#005f87"), user: lipgloss.Color("#1a56b0"), assistant: lipgloss.Color("#7030a0"), tool: lipgloss.Color("#005f87"),
		heading: lipgloss.Color("#1a56b0"), code: lipgloss.Color("#875f00"), link: lipgloss.Color("#006d6d"),
		added: lipgloss.Color("#1a7f37"), removed: lipgloss.Color("#b3261e"), hunk: lipgloss.Color("#006d6d"),
		success: lipgloss.Color("#1a7f37"), warning: lipgloss.Color("#8f5a00"), failure: lipgloss.Color("#b3261e"), dim: lipgloss.Color("#666b73"),
		syntax: syntaxColours{
			keyword: lipgloss.Color("#7030a0"), typ: lipgloss.Color("#7a5200"), function: lipgloss.Color("#1a56b0"), builtin: lipgloss.Color("#005f87"),
			str: lipgloss.Color("#0b6b2c"), number: lipgloss.Color("#9c3f00"), comment: lipgloss.Color("#5f646c"), operator: lipgloss.Color("#44505c"),
			key: lipgloss.Color("#006464"), tag: lipgloss.Color("#a3211a"),
		},
		lines: &lineColours{
			added: lipgloss.Color("#dcf5e1"), addedWord: lipgloss.Color("#a9e2b6"), removed: lipgloss.Color("#fde3e1"), removedWord: lipgloss.Color("#f7b9b5"),
			added256: 194, removed256: 224,
		},
	}.theme(p)
}

// shown converts the colours of a theme to those of a terminal.
func (t Theme) shown(p colorprofile.Profile) Theme {
	for _, s := range t.styles() {
		if s.Foreground != nil {
			s.Foreground = p.Convert(s.Foreground)
		}
		if s.Background != nil {
			s.Background = p.Convert(s.Background)
		}
	}
	return t
}

func (t *Theme) styles() []*Style {
	c := &t.Syntax
	return []*Style{
		&t.Text, &t.Strong, &t.Emphasis, &t.Dim, &t.Accent, &t.User, &t.Assistant, &t.Thought, &t.Tool, &t.Heading, &t.Code,
		&t.Link, &t.Quote, &t.Added, &t.Removed, &t.Hunk, &t.Success, &t.Warning, &t.Error, &t.Border, &t.Selected,
		&t.AddedLine, &t.AddedWord, &t.RemovedLine, &t.RemovedWord,
		&c.Keyword, &c.Type, &c.Function, &c.Builtin, &c.String, &c.Number, &c.Comment, &c.Operator, &c.Key, &c.Tag,
	}
}
