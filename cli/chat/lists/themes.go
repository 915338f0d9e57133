package lists

import (
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/theme"
)

// AboutTheme returns the description of a theme.
func AboutTheme(name string) string {
	return map[string]string{
		theme.Default: "light or dark, as the background of the terminal", theme.OnLight: "for a light background", theme.OnDark: "for a dark background",
		theme.ANSI: "the terminal's own sixteen colours", theme.None: "no colours; bold and faint remain",
	}[name]
}

// Themes returns the list of themes.
func Themes(current string) interactive.Pick {
	p := interactive.Pick{Title: "Theme", Usage: "/theme NAME selects a theme."}
	for _, name := range theme.Names() {
		item := interactive.PickItem{Name: name, Description: AboutTheme(name), Submit: "/theme " + name, Theme: name, Selected: name == current}
		if item.Selected {
			item.State = "current"
		}
		p.Items = append(p.Items, item)
	}
	return p
}
