package dialogs

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/keymap"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/cli/tui/frame"
)

// arrangement is a way to arrange an approval dialog. The first one that leaves enough
// rows for the description of the call is used.
type arrangement struct {
	framed  bool
	why     bool // the rule that asks is above the choices, otherwise it ends the description
	wrapped bool // a choice may take several lines, otherwise its text is cut
	packed  bool // several choices share a line
	short   bool // of the choices that are not selected, only the letters are shown
}

// arrangements returns all arrangements, from roomy to narrow.
func arrangements() []arrangement {
	return []arrangement{
		{framed: true, why: true, wrapped: true},
		{framed: true, why: true},
		{framed: true},
		{},
		{packed: true},
		{packed: true, short: true},
	}
}

// Sizes of an approval dialog.
const (
	minBody      = 2  // rows of the description, in the narrower arrangements
	usualBody    = 6  // the same, in the roomy ones
	minStores    = 24 // columns for the text of a choice that may wrap
	maxStoreRows = 3  // of such a text; longer ones are listed in the description
	minText      = 12 // columns for the text of a choice; with fewer it is omitted
	choiceIndent = 5  // mark and number of a choice
	noWidth      = 4  // "no: "
)

// View shows the call, the rule that asks, and the choices or the text field of a
// denial.
func (c *Confirmation) View(v blocks.Style, rows int, armed bool) ([]string, *tea.Cursor) {
	in := v
	in.Columns = frame.Inside(v.Columns)
	if !c.body.colours { // its diffs are drawn again in any case
		c.look.Pass = v.Pass
	}
	if c.body.lines == nil || c.look != v {
		before := c.body.lines
		c.body, c.look = description{diffs: c.body.diffs, lines: c.requester(v)}, v
		c.body.describe(c.request, in)
		c.Redrawn(before, c.body.lines)
	}
	all := arrangements()
	for i, a := range all {
		inside := in
		if a.short {
			inside = v // there is no frame
		}
		lower, listed, cursor := c.lower(a, inside, armed)
		body := c.body.lines[:len(c.body.lines):len(c.body.lines)]
		if listed {
			body = append(append(body, ""), c.rules(in)...)
		}
		if !a.why {
			body = append(body, c.why(in)...)
		}
		want := minBody
		if a.why {
			want = max(usualBody, rows/3)
		}
		room := rows - len(lower) - 1
		if a.framed {
			room = rows - len(lower) - frame.BoxRows - 1
		}
		if room >= min(len(body), want) || i == len(all)-1 {
			return c.arrange(a, v, body, max(min(room, len(body)), 0), lower, armed, cursor)
		}
	}
	return nil, nil // not reached
}

// arrange draws the parts of the dialog.
func (c *Confirmation) arrange(a arrangement, v blocks.Style, body []string, room int, lower []string, armed bool, cursor *tea.Cursor) ([]string, *tea.Cursor) {
	shown := c.Window(body, room)
	shown = c.body.draw(shown, c.Offset)
	if !a.framed {
		title := display.Line(c.request.Details.Title)
		if c.names(v) {
			title += " · subagent " + c.request.Subagent
		}
		if position := c.Position(); position != "" && v.Columns-8-len(position) >= minText {
			title = display.Cut(title, v.Columns-8-len(position), "…") + " · " + position
		}
		lines := append([]string{frame.Titled(v, title)}, shown...)
		if cursor != nil {
			cursor.Y += len(lines)
		}
		return append(lines, lower...), cursor
	}
	b := frame.Box{
		Title: c.request.Details.Title, Aside: c.aside(v), Hints: c.hints(armed), Border: v.Theme.Accent,
		Sections: []frame.Section{{Lines: shown}, {Lines: lower, Label: c.Position()}},
	}
	if !armed {
		b.Border = v.Theme.Border
	}
	if cursor != nil {
		cursor.X, cursor.Y = cursor.X+2, cursor.Y+len(shown)+2
	}
	return b.Draw(v), cursor
}

// names reports whether the title line has room for the name of the subagent that
// calls.
func (c *Confirmation) names(v blocks.Style) bool {
	q := c.request
	return q.Subagent != "" && display.Width(display.Line(q.Details.Title+q.ToolCall.Name+q.Subagent)) <= v.Columns-30
}

// requester names the subagent that calls, unless the title line does.
func (c *Confirmation) requester(v blocks.Style) []string {
	if c.request.Subagent == "" || c.names(v) {
		return nil
	}
	return blocks.Folded("requested by the subagent "+display.Line(c.request.Subagent), frame.Inside(v.Columns))
}

// aside names the tool, and the subagent that calls it.
func (c *Confirmation) aside(v blocks.Style) string {
	if c.names(v) {
		return c.request.ToolCall.Name + " · subagent " + c.request.Subagent
	}
	return c.request.ToolCall.Name
}

// hints lists the keys, the way out last.
func (c *Confirmation) hints(armed bool) []frame.Hint {
	switch {
	case !armed:
		return []frame.Hint{notArmed()}
	case c.refusing:
		return []frame.Hint{
			frame.Keys(keymap.Reason, "denies", keymap.Accept), {Keys: "ctrl+j", Effect: "new line"},
			frame.Keys(keymap.Reason, "back to the choices", keymap.Back),
		}
	}
	hints := []frame.Hint{
		frame.Keys(keymap.Approval, "or letter selects", keymap.Up, keymap.Down),
		frame.Keys(keymap.Approval, "answers", keymap.Accept),
	}
	if c.Total > c.Rows {
		hints = append(hints, frame.Keys(keymap.Approval, "scroll", keymap.PageUp, keymap.PageDown))
	}
	return append(hints, frame.Keys(keymap.Approval, "denies", keymap.Close))
}

// lower returns the part below the description. listed reports that the description has
// to list the rules that the choices store.
func (c *Confirmation) lower(a arrangement, v blocks.Style, armed bool) (lines []string, listed bool, cursor *tea.Cursor) {
	if a.why {
		lines = c.why(v)
	}
	if c.wrong != "" {
		lines = append(lines, v.Theme.Warning.Render(display.Cut("! "+display.Line(c.wrong), v.Columns, "…")))
	}
	switch {
	case c.refusing:
		field, at := c.field(v)
		at.Y += len(lines)
		return append(lines, field...), false, at
	case a.packed:
		return append(lines, c.packed(a, v, armed)...), true, nil
	}
	choices, listed := c.lines(a, v, armed)
	return append(lines, choices...), listed, nil
}

// why explains why the call needs approval, with the rule that asks.
func (c *Confirmation) why(v blocks.Style) []string {
	lines := blocks.Folded("why: "+approval.Why(c.request), v.Columns)
	for i, line := range lines {
		lines[i] = v.Theme.Dim.Render(line)
	}
	return lines
}

// rules lists the rules that the choices store, each completely.
func (c *Confirmation) rules(v blocks.Style) (lines []string) {
	add := func(text, hang string) {
		for _, line := range blocks.Split(display.Fold(text, hang, v.Columns)) {
			for _, piece := range display.Break(line, v.Columns) {
				lines = append(lines, v.Theme.Dim.Render(piece))
			}
		}
	}
	for _, g := range approval.Groups(c.choices) {
		add(g.Heading()+":", "    ")
		for _, rule := range g.Rules {
			add("  - "+rule, "    ")
		}
	}
	return lines
}

// lines returns the choices, each with what it stores. listed reports that some texts
// are too long.
func (c *Confirmation) lines(a arrangement, v blocks.Style, armed bool) (lines []string, listed bool) {
	label := 0
	for _, choice := range c.choices {
		label = max(label, display.Width(choice.Label))
	}
	column := choiceIndent + label + 2
	room := v.Columns - column
	most := 1
	if a.wrapped && room >= minStores {
		most = maxStoreRows
	}
	if room < minText {
		most = 0
	}
	texts := make([][]string, len(c.choices))
	for i, choice := range c.choices {
		texts[i] = pieces(choice.Stores(false), room)
		listed = listed || len(choice.Rules) > 1 || len(choice.Rules) > 0 && len(texts[i]) > most
	}
	for i, choice := range c.choices {
		switch text := choice.Stores(listed); {
		case most == 0:
			texts[i] = nil
		case len(texts[i]) <= most && len(choice.Rules) < 2:
		case most == 1:
			texts[i] = []string{display.Cut(text, room, "…")}
		default:
			texts[i] = pieces(text, room)
			texts[i] = texts[i][:min(len(texts[i]), most)]
		}
		lines = append(lines, c.line(v, i, label, texts[i], armed)...)
	}
	return lines, listed
}

// pieces wraps a text.
func pieces(text string, columns int) (lines []string) {
	for _, line := range blocks.Split(display.Fold(text, "", max(columns, 1))) {
		lines = append(lines, display.Break(line, max(columns, 1))...)
	}
	return lines
}

// line returns the lines of one choice: mark, number, label and text.
func (c *Confirmation) line(v blocks.Style, i, width int, text []string, armed bool) []string {
	choice := c.choices[i]
	mark, n := "  ", fmt.Sprintf("%-3s", number(i))
	pad := strings.Repeat(" ", width-display.Width(choice.Label)+2)
	first := ""
	if len(text) > 0 {
		first = text[0]
	}
	var lines []string
	look := v.Theme.Dim
	switch {
	case !armed:
		lines = append(lines, look.Render(mark+n+choice.Label+pad+first))
	case i == c.at:
		mark = v.Theme.Accent.Render(">") + " "
		look = v.Theme.Text
		lines = append(lines, mark+n+v.Theme.Selected.Render(choice.Label+pad[2:])+"  "+look.Render(first))
	default:
		lines = append(lines, mark+look.Render(n)+boldKeys(choice.Label, v)+pad+look.Render(first))
	}
	lines[0] = display.Cut(lines[0], v.Columns, "…")
	for _, more := range text[min(1, len(text)):] {
		lines = append(lines, strings.Repeat(" ", choiceIndent+width+2)+look.Render(more))
	}
	return lines
}

// packed returns the labels of the choices in few lines, for a window that has no room
// for one line each.
func (c *Confirmation) packed(a arrangement, v blocks.Style, armed bool) (lines []string) {
	if !armed {
		return []string{v.Theme.Dim.Render(display.Cut(c.hints(armed)[0].String(), v.Columns, "…"))}
	}
	line, width, gap := "", 0, 2
	if a.short {
		gap = 1
	}
	for i, choice := range c.choices {
		text, shown := choice.Label, boldKeys(choice.Label, v)
		if key, _, has := strings.Cut(text, "]"); has && a.short {
			text, shown = key+"]", boldKeys(key+"]", v)
		}
		if i == c.at {
			text = choice.Label
			if a.short { // the letters of the others remain
				text = display.Cut(text, max(v.Columns-2-4*(len(c.choices)-1), 3), "…")
			}
			text, shown = "> "+text, v.Theme.Accent.Render(">")+" "+v.Theme.Selected.Render(text)
		}
		if width > 0 && width+gap+display.Width(text) > v.Columns {
			lines = append(lines, line)
			line, width = "", 0
		}
		if width > 0 {
			line, width = line+strings.Repeat(" ", gap), width+gap
		}
		line, width = display.Cut(line+shown, v.Columns, "…"), width+display.Width(text)
	}
	return append(lines, line)
}

// field returns the text field for the reason of a denial.
func (c *Confirmation) field(v blocks.Style) ([]string, *tea.Cursor) {
	lines := []string{v.Theme.Strong.Render(display.Cut("What should be done instead? Enter alone: no comment", v.Columns, "…"))}
	text, y, x := c.words.View(max(v.Columns-noWidth, 1), 3)
	for i, line := range text {
		mark := strings.Repeat(" ", noWidth)
		if i == 0 {
			mark = v.Theme.Accent.Render("no: ")
		}
		text[i] = mark + line
	}
	return append(lines, text...), tea.NewCursor(noWidth+x, 1+y)
}

// boldKeys renders the text in brackets in bold.
func boldKeys(line string, v blocks.Style) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(line, "[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		key, after, _ := strings.Cut(rest, "]")
		b.WriteString(v.Theme.Strong.Render("[" + key + "]"))
		line = after
	}
}
