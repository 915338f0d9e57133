// Package theme defines the styles of terminal output by their meaning.
package theme

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/colorprofile"

	"github.com/fettle-dev/fettle/core/fault"
)

// Theme is a set of styles, each named after its use. The zero value renders all text
// unchanged, without escape sequences.
type Theme struct {
	Text      Style // default text
	Strong    Style // strong text
	Emphasis  Style // emphasized text
	Dim       Style // less important text
	Accent    Style // highlights
	User      Style // input of the user
	Assistant Style // the marker of model output
	Thought   Style // thoughts of the model
	Tool      Style // tool names
	Heading   Style
	Code      Style // inline code, and code of unknown languages
	Link      Style // link addresses
	Quote     Style // the marker of a quotation
	Added     Style // lines of a diff, and their counts
	Removed   Style
	Hunk      Style // the separator of diff hunks
	Success   Style
	Warning   Style
	Error     Style
	Border    Style // borders and rules
	Selected  Style // the selected item

	// Changed lines of a diff on their background, and the changed words in them.
	// Without backgrounds, [Theme.Backgrounds] is false and syntax colours would hide
	// which lines have changed.
	AddedLine, AddedWord     Style
	RemovedLine, RemovedWord Style

	Syntax Syntax // code of known languages

	// ASCII reports that the terminal shows only ASCII characters.
	ASCII bool
}

// Syntax is the styles of source code, by the kind of its tokens. Other text has no
// style.
type Syntax struct {
	Keyword  Style
	Type     Style // types and classes
	Function Style // the name of a defined or called function
	Builtin  Style // names of the language itself
	String   Style
	Number   Style // numbers and other literals
	Comment  Style
	Operator Style
	Key      Style // keys of data, attributes and annotations
	Tag      Style // elements of markup
}

// Backgrounds reports whether changed lines of a diff have backgrounds.
func (t *Theme) Backgrounds() bool { return t.AddedLine.Background != nil }

// Coloured reports whether the theme has colours.
func (t *Theme) Coloured() bool { return t.Added.Foreground != nil }

// Plain reports whether the theme has no styles.
func (t *Theme) Plain() bool { return *t == Theme{ASCII: t.ASCII} }

// Theme names, for the setting ui.theme.
const (
	Default = "default" // light or dark, from the terminal
	OnLight = "light"   // for a light background
	OnDark  = "dark"    // for a dark background
	ANSI    = "ansi"    // the terminal's own sixteen colours
	None    = "none"    // no colours; bold and faint remain
)

// Names returns the names of the themes, the default first.
func Names() []string { return []string{Default, OnLight, OnDark, ANSI, None} }

// Options select a [Theme].
type Options struct {
	Name    string               // one of [Names]; "" and unknown names are [Default], see [Check]
	Profile colorprofile.Profile // the capabilities of the terminal; see [Profile]
	Light   bool                 // its background is light, used by [Default]; see [Light]
	ASCII   bool                 // it shows only ASCII characters; see [ASCII]
}

// New returns a theme. For a stream that is no terminal, and for a dumb terminal, it
// has no styles.
func New(o Options) Theme {
	t := o.theme()
	t.ASCII = o.ASCII
	return t
}

// AsksBackground reports whether the theme depends on the background of the terminal.
func (o Options) AsksBackground() bool {
	light, dark := o, o
	light.Light, dark.Light = true, false
	return New(light) != New(dark)
}

func (o Options) theme() Theme {
	switch {
	case o.Profile <= colorprofile.NoTTY:
		return Theme{}
	case o.Profile == colorprofile.ASCII || o.Name == None:
		return colourless()
	case o.Profile == colorprofile.ANSI || o.Name == ANSI:
		return sixteen()
	case o.Name == OnLight, o.Name != OnDark && o.Light:
		return light(o.Profile)
	}
	return dark(o.Profile)
}

// Check returns an error that lists the themes, unless name is one of them or "".
// Themes of extensions are not supported.
func Check(name string) error {
	if name == "" {
		return nil
	}
	for _, known := range Names() {
		if name == known {
			return nil
		}
	}
	return fault.New(fault.InvalidConfig, "cli.theme",
		fmt.Sprintf("Unknown theme %q; the default theme is used. Themes of extensions and custom themes are not supported.", name),
		"Set ui.theme to one of "+strings.Join(Names(), ", ")+".")
}
