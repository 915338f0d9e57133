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
	Code      Style // inline code and code blocks
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
}

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
}

// New returns a theme. For a stream that is no terminal, and for a dumb terminal, it
// is the zero Theme.
func New(o Options) Theme {
	switch {
	case o.Profile <= colorprofile.NoTTY:
		return Theme{}
	case o.Profile == colorprofile.ASCII || o.Name == None:
		return colourless()
	case o.Profile == colorprofile.ANSI || o.Name == ANSI:
		return sixteen()
	case o.Name == OnLight, o.Name != OnDark && o.Light:
		return light().shown(o.Profile)
	}
	return dark().shown(o.Profile)
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
