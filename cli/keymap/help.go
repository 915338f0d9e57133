package keymap

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Markdown returns the keys as Markdown, one table for each place.
func Markdown() string {
	var b strings.Builder
	var place Place
	for _, k := range Table() {
		if k.About == "" {
			continue
		}
		if k.Place != place {
			if place != "" {
				b.WriteByte('\n')
			}
			place = k.Place
			b.WriteString("**" + string(place) + "**\n\n| key | effect |\n|---|---|\n")
		}
		b.WriteString("| " + strings.Join(k.Names(), ", ") + " | " + k.About + " |\n")
	}
	return b.String()
}

// Names returns the names of the strokes, in Markdown.
func (k Key) Names() []string {
	names := make([]string, len(k.Strokes))
	for i, stroke := range k.Strokes {
		names[i] = Name(stroke)
	}
	return names
}

// Name returns the name of a stroke as the documentation writes it, in Markdown:
// Ctrl-R, PgUp, `?`.
func Name(stroke string) string {
	keys := strings.Fields(stroke)
	for i, k := range keys {
		parts := strings.Split(k, "+")
		if strings.HasSuffix(k, "++") {
			parts = append(parts[:len(parts)-2], "+")
		}
		for j, part := range parts {
			parts[j] = partName(part, len(parts) == 1)
		}
		keys[i] = strings.Join(parts, "-")
	}
	return strings.Join(keys, " ")
}

func partName(part string, alone bool) string {
	switch {
	case part == "pgup":
		return "PgUp"
	case part == "pgdown":
		return "PgDn"
	case utf8.RuneCountInString(part) > 1:
		first, n := utf8.DecodeRuneInString(part)
		return string(unicode.ToUpper(first)) + part[n:]
	case alone:
		return "`" + part + "`"
	case slices.Contains([]string{"_", "<", ">"}, part):
		return `\` + part
	}
	return strings.ToUpper(part)
}
