// Package theme says how what is shown in a terminal looks, by what it means.
package theme

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/colorprofile"

	"github.com/fettle-dev/fettle/core/fault"
)

// Theme is a set of styles, each named after what it is for. The zero value
// shows all text as it is, without a single escape sequence.
type Theme struct {
	Text      Style // what has no other meaning
	Strong    Style // what stands out of text
	Emphasis  Style // what is stressed in text
	Dim       Style // what is less important than text
	Accent    Style // what the eye is led to
	User      Style // what the person has said
	Assistant Style // the mark of what the model says
	Thought   Style // what the model thinks
	Tool      Style // the name of a tool
	Heading   Style
	Code      Style // code in text and in blocks
	Link      Style // the address of a link
	Quote     Style // the mark of a quotation
	Added     Style // lines of a diff, and counts of them
	Removed   Style
	Hunk      Style // what separates the hunks of a diff
	Success   Style
	Warning   Style
	Error     Style
	Border    Style // lines around things, rules
	Selected  Style // the chosen one of several
}

// The names of themes, for the setting ui.theme.
const (
	Default = "default" // light or dark, as the terminal is
	OnLight = "light"   // for a light background
	OnDark  = "dark"    // for a dark background
	ANSI    = "ansi"    // the terminal's own sixteen colours
	None    = "none"    // no colours; bold, faint and the like stay
)

// Names returns the names of the themes, the default first.
func Names() []string { return []string{Default, OnLight, OnDark, ANSI, None} }

// Options choose a [Theme].
type Options struct {
	Name    string               // one of [Names]; "" and others are [Default], see [Check]
	Profile colorprofile.Profile // what the terminal can do; see [Profile]
	Light   bool                 // its background is light, which [Default] asks about; see [Light]
}

// New returns a theme. Without a terminal, and for a dumb one, it is the zero
// Theme, whatever its name.
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

// Check returns an error that says which themes there are, unless name is one of
// them or "". Themes that extensions bring are not supported.
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
		fmt.Sprintf("There is no theme %q; the default is shown. Themes of extensions and of your own are not supported.", name),
		"Set ui.theme to one of "+strings.Join(Names(), ", ")+".")
}
