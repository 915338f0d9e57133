package theme

import (
	"slices"
	"strings"

	"github.com/charmbracelet/colorprofile"
)

// Profile returns the capabilities of a stream, from its environment ("NAME=value"
// strings, the last of a name counts) and whether it is a terminal: NoTTY if it is
// not one or is dumb, ASCII (no colours) if NO_COLOR is set, otherwise its colours.
// It reads only the environment and starts no process.
func Profile(environ []string, terminal bool) colorprofile.Profile {
	if !terminal {
		return colorprofile.NoTTY
	}
	p := colorprofile.Env(environ)
	if p > colorprofile.ASCII && lookup(environ, "NO_COLOR") != "" {
		return colorprofile.ASCII
	}
	return p
}

// Light reports whether the terminal's background is light. COLORFGBG, which some
// terminals set, ends with the number of the background colour. Without it the
// background counts as dark.
func Light(environ []string) bool {
	value := lookup(environ, "COLORFGBG")
	switch value[strings.LastIndex(value, ";")+1:] {
	case "7", "9", "10", "11", "12", "13", "14", "15":
		return true
	}
	return false
}

// ASCII reports whether the locale of the environment has another character encoding
// than UTF-8. Without a locale the encoding counts as UTF-8.
func ASCII(environ []string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(lookup(environ, name)); value != "" {
			return !strings.Contains(value, "utf-8") && !strings.Contains(value, "utf8")
		}
	}
	return false
}

// lookup returns a variable of an environment, "" if it is not set.
func lookup(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if n, value, ok := strings.Cut(entry, "="); ok && n == name {
			return value
		}
	}
	return ""
}
