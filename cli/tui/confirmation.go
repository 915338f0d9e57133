package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/core/bus"
)

// confirmation is the approval dialog of a tool call.
type confirmation struct {
	request bus.ToolConfirmationRequest
	replies []bus.OutcomeInfo
	edit    func() editedMsg // nil: cannot be edited
	scroller

	refusing bool   // the reason for a denial is being typed
	words    editor // the reason
	wrong    string // why the last key had no effect

	body []string // the description of the call, for the style
	look blocks.Style
}

func newConfirmation(q bus.ToolConfirmationRequest, edit func() editedMsg) *confirmation {
	c := &confirmation{request: q, edit: edit}
	for _, r := range approval.Replies(q.Outcomes) {
		if r.Outcome != bus.ModifyWithEditor || edit != nil {
			c.replies = append(c.replies, r)
		}
	}
	return c
}

// view shows the title, a scrollable description of the call, the scope of the
// answers, and the keys. If space is short, the scopes move into the scrollable part.
func (c *confirmation) view(v blocks.Style, rows int, armed bool) ([]string, *tea.Cursor) {
	if c.body == nil || c.look != v {
		before := c.body
		c.body, c.look = describe(c.request, v), v
		c.redrawn(before, c.body)
	}
	meanings := c.meanings(v)
	foot, cursor := c.foot(v, armed)
	body := c.body
	if 1+len(meanings)+len(foot) > rows/2 {
		body, meanings = append(body[:len(body):len(body)], meanings...), nil
	}
	room := max(rows-1-len(meanings)-len(foot), 1)
	if len(body) > room && cursor == nil {
		room = max(room-1, 1)
	}
	shown := c.window(body, room)
	if where := c.where(); where != "" && cursor == nil {
		foot = append(foot, v.Theme.Dim.Render(display.Cut(where, v.Columns, "…")))
	}
	lines := append([]string{titled(v, c.title())}, shown...)
	lines = append(lines, meanings...)
	if cursor != nil {
		cursor.Y += len(lines)
	}
	return append(lines, foot...), cursor
}

func (c *confirmation) title() string {
	title := c.request.Details.Title
	if c.request.Subagent != "" {
		title += " (requested by the subagent " + c.request.Subagent + ")"
	}
	return title
}

// meanings describes the answers that add rules, and the scope of each: one rule next
// to the answer, several below it, one per line.
func (c *confirmation) meanings(v blocks.Style) []string {
	var lines []string
	add := func(text, hang string) {
		for _, line := range blocks.Split(display.Fold(text, hang, v.Columns)) {
			for _, piece := range display.Break(line, v.Columns) {
				lines = append(lines, v.Theme.Dim.Render(piece))
			}
		}
	}
	for _, lasting := range approval.Lasts(c.request, c.replies) {
		keys, lasts := "", false
		for _, r := range lasting.Replies {
			keys += "[" + r.Key + "] "
			lasts = lasts || r.Until != ""
		}
		switch {
		case !lasts:
			add(keys+lasting.Lines[0], "    ")
		case len(lasting.Lines) == 1:
			add(keys+"holds for "+lasting.Lines[0], "    ")
		default:
			add(keys+"holds for", "    ")
			for _, rule := range lasting.Lines {
				add("    - "+rule, "      ")
			}
		}
	}
	return lines
}

// foot returns the keys or the text field.
func (c *confirmation) foot(v blocks.Style, armed bool) (lines []string, cursor *tea.Cursor) {
	if c.wrong != "" {
		lines = append(lines, v.Theme.Warning.Render(display.Cut(display.Line(c.wrong), v.Columns, "…")))
	}
	switch {
	case !armed:
		return append(lines, v.Theme.Dim.Render("…")), nil
	case c.refusing:
		lines = append(lines, v.Theme.Dim.Render(display.Cut("What should be done instead? Enter alone: no comment", v.Columns, "…")))
		text, y, x := c.words.view(v.Columns-4, 3)
		for i, line := range text {
			mark := "    "
			if i == 0 {
				mark = v.Theme.Accent.Render("no: ")
			}
			text[i] = mark + line
		}
		cursor = tea.NewCursor(4+x, len(lines)+y)
		return append(lines, text...), cursor
	}
	labels := make([]string, len(c.replies))
	for i, r := range c.replies {
		labels[i] = r.Label
	}
	for _, line := range pack(labels, v.Columns) {
		lines = append(lines, boldKeys(line, v))
	}
	return lines, nil
}

// pack joins words into lines, as many words as fit.
func pack(words []string, columns int) []string {
	var lines []string
	line := ""
	for _, w := range words {
		switch {
		case line == "":
			line = w
		case display.Width(line)+2+display.Width(w) > columns:
			lines = append(lines, line)
			line = w
		default:
			line += "  " + w
		}
	}
	return append(lines, line)
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

func (c *confirmation) paste(text string) bool {
	if c.refusing {
		c.words.paste(text)
	}
	return c.refusing
}

// means reports that "no" is harmless: it only opens a text field that Enter sends,
// so text may follow it immediately.
func (c *confirmation) means(k tea.KeyPressMsg) meaning {
	if c.refusing || k.Text == " " {
		return taken
	}
	for _, r := range c.replies {
		switch {
		case !strings.EqualFold(k.Text, r.Key):
		case r.Outcome == bus.Cancel:
			return taken
		default:
			return answers
		}
	}
	return stray
}

func (c *confirmation) failed(why string) { c.wrong = why }

func (c *confirmation) key(k tea.KeyPressMsg) (bus.Answer, tea.Cmd) {
	c.wrong = ""
	stroke := k.Keystroke()
	if c.refusing {
		return c.wordKey(k, stroke)
	}
	if stroke == "esc" || stroke == "ctrl+c" {
		return c.answer(bus.Cancel), nil
	}
	if c.scroller.key(stroke) {
		return nil, nil
	}
	for _, r := range c.replies {
		switch {
		case !strings.EqualFold(k.Text, r.Key):
		case r.Outcome == bus.Cancel:
			c.refusing = true
			return nil, nil
		case r.Outcome == bus.ModifyWithEditor:
			return nil, inEditor(c.edit)
		default:
			return c.answer(r.Outcome), nil
		}
	}
	return nil, nil
}

// wordKey handles a key while the reason for a denial is typed.
func (c *confirmation) wordKey(k tea.KeyPressMsg, stroke string) (bus.Answer, tea.Cmd) {
	switch stroke {
	case "enter", "kpenter":
		return c.answer(bus.Cancel), nil
	case "esc", "ctrl+c":
		c.words.reset()
		return c.answer(bus.Cancel), nil
	}
	editKey(&c.words, k, c.look.Columns-4)
	return nil, nil
}

func (c *confirmation) answer(o bus.Outcome) bus.Answer {
	return bus.ToolConfirmationResponse{
		CorrelationID: c.request.CorrelationID, Confirmed: o != bus.Cancel, Outcome: o,
		Payload: bus.Payload{Feedback: strings.TrimSpace(c.words.value())},
	}
}
