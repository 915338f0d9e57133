package frame

import (
	"strings"

	"charm.land/bubbles/v2/help"
	"charm.land/bubbles/v2/key"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/keymap"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
)

// Hint names keys and their effect in a few words.
type Hint struct {
	Keys   string // "": the hint is about no key
	Effect string // plain text; may contain control characters; "": the keys alone
}

// Keys returns the hint of actions, with the first key of each in the place.
func Keys(place keymap.Place, effect string, actions ...keymap.Action) Hint {
	return Hint{keymap.Short(place, actions...), effect}
}

// String returns the hint as one line, safe for the terminal.
func (h Hint) String() string { return display.Line(strings.TrimSpace(h.Keys + " " + h.Effect)) }

// Footer returns hints as the last line of a page or list: as many as fit, from the first
// one on, which is the way out.
func Footer(v blocks.Style, hints ...Hint) string {
	line := help.Model{ShortSeparator: " · ", Ellipsis: "…"}
	line.SetWidth(v.Columns)
	bindings := make([]key.Binding, len(hints))
	for i, h := range hints {
		head, rest, _ := strings.Cut(h.String(), " ")
		bindings[i] = key.NewBinding(key.WithKeys(head), key.WithHelp(head, rest))
	}
	return v.Theme.Dim.Render(display.Cut(line.ShortHelpView(bindings), v.Columns, "…"))
}
