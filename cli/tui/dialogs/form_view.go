package dialogs

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/keymap"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/cli/tui/frame"
	"github.com/fettle-dev/fettle/core/bus"
)

// minFormRows is the number of rows from which a form has a frame.
const minFormRows = 8

// View shows one question: its text with the options, and the text field of an answer
// in words.
func (f *Form) View(v blocks.Style, rows int, armed bool) ([]string, *tea.Cursor) {
	f.columns = v.Columns
	q := f.field()
	in := v
	in.Columns = frame.Inside(v.Columns)
	framed := rows >= minFormRows
	lower, cursor := f.lower(in, q, armed)
	if !framed {
		lower = append(lower, v.Theme.Dim.Render(frame.JoinHints(f.keys(armed), v.Columns)))
	}
	room := rows - 1 - len(lower)
	if framed {
		room = rows - frame.BoxRows - len(lower)
		if len(lower) > 0 {
			room--
		}
	}
	body, selected := f.body(in, q, armed)
	room = max(room, 1)
	if selected >= 0 && f.moved { // keep the option visible; the question comes first
		f.Offset = max(min(f.Offset, selected), selected-room+1)
	}
	shown := f.Window(body, room)
	if !framed {
		if n := len(shown) - 1; n > 0 && (selected > f.Offset+n || selected >= 0 && selected < f.Offset) {
			shown = append(shown[:n:n], body[selected]) // what Enter answers is visible
		}
		if cursor != nil {
			cursor.Y += 1 + len(shown)
		}
		return append(append([]string{frame.Titled(v, f.title(q))}, shown...), lower...), cursor
	}
	b := frame.Box{Title: f.title(q), Aside: f.progress(), Hints: f.keys(armed), Foot: f.Position(), Border: v.Theme.Accent, Sections: []frame.Section{{Lines: shown}}}
	if !armed {
		b.Border = v.Theme.Border
	}
	if len(lower) > 0 {
		b.Sections = append(b.Sections, frame.Section{Lines: lower, Label: f.Position()})
		b.Foot = ""
	}
	if cursor != nil {
		cursor.X, cursor.Y = cursor.X+2, cursor.Y+len(shown)+2
	}
	return b.Draw(v), cursor
}

// title names the requester and the subject of the question.
func (f *Form) title(q *field) string {
	title := "The model asks"
	switch {
	case f.request.Program:
		title = "One question"
	case f.request.Server != "":
		title = "The MCP server " + f.request.Server + " asks"
	case f.request.Subagent != "":
		title = "The subagent " + f.request.Subagent + " asks"
	}
	if q.Header != "" {
		title += ": " + q.Header
	}
	return title
}

// progress is the number of the question; "" if there is only one.
func (f *Form) progress() string {
	if len(f.fields) < 2 {
		return ""
	}
	return fmt.Sprintf("%d of %d", f.at+1, len(f.fields))
}

// body returns the question with its options, and the line of the selected option, -1
// for none.
func (f *Form) body(v blocks.Style, q *field, armed bool) (lines []string, selected int) {
	selected = -1
	lines = v.Markdown(q.Question, min(v.Columns, maxProse))
	options := q.options()
	if len(options) > 0 && v.Columns >= 60 {
		lines = append(lines, "")
	}
	for i, o := range options {
		if i == q.at {
			selected = len(lines)
		}
		lines = append(lines, f.option(v, q, i, o.Label, armed)...)
		if o.Description != "" {
			indent := strings.Repeat(" ", choiceIndent)
			if q.MultiSelect {
				indent += "    "
			}
			for _, line := range blocks.Folded(o.Description, max(min(v.Columns, maxProse)-len(indent), 1)) {
				lines = append(lines, indent+v.Theme.Dim.Render(line))
			}
		}
	}
	return lines, selected
}

// options returns the selectable answers: those of a choice and one for other words, or
// yes and no.
func (f *field) options() []bus.UserOption {
	switch {
	case f.Type == bus.QuestionYesNo:
		return []bus.UserOption{yes: {Label: "[y]es"}, no: {Label: "[n]o"}}
	case f.choice():
		return append(f.Options[:len(f.Options):len(f.Options)], bus.UserOption{Label: "other (type your answer)"})
	}
	return nil
}

func (f *Form) option(v blocks.Style, q *field, i int, label string, armed bool) []string {
	checkbox := ""
	if q.MultiSelect && i < len(q.Options) {
		checkbox = "[ ] "
		if q.chosen[i] {
			checkbox = "[x] "
		}
	}
	lines := blocks.Folded(checkbox+display.Line(label), max(v.Columns-choiceIndent, 1))
	for n, line := range lines {
		mark, key := "  ", "   "
		if n == 0 {
			key = fmt.Sprintf("%-3s", number(i))
		}
		switch {
		case !armed:
			lines[n] = v.Theme.Dim.Render(mark + key + line)
			continue
		case i == q.at && n == 0:
			mark = v.Theme.Accent.Render(">") + " "
			fallthrough
		case i == q.at:
			line = v.Theme.Selected.Render(line)
		default:
			key = v.Theme.Dim.Render(key)
		}
		lines[n] = mark + key + line
	}
	return lines
}

// lower returns the text field and the reason why the last key had no effect.
func (f *Form) lower(v blocks.Style, q *field, armed bool) (lines []string, cursor *tea.Cursor) {
	if q.typing() {
		lines, cursor = f.typed(v, q)
		if !armed {
			cursor = nil
		}
	}
	if f.wrong != "" {
		lines = append(lines, v.Theme.Warning.Render(display.Cut("! "+display.Line(f.wrong), v.Columns, "…")))
	}
	return lines, cursor
}

// typed returns the text field.
func (f *Form) typed(v blocks.Style, q *field) ([]string, *tea.Cursor) {
	text, y, x := q.words.View(max(v.Columns-2, 2), 4)
	if q.words.Text() == "" && q.Placeholder != "" {
		text = []string{v.Theme.Dim.Render(display.Cut(display.Line(q.Placeholder), v.Columns-2, "…"))}
	}
	for i := range text {
		mark := "  "
		if i == 0 {
			mark = v.Theme.Accent.Render(">") + " "
		}
		text[i] = mark + text[i]
	}
	return text, tea.NewCursor(2+x, y)
}

// keys lists the available keys.
func (f *Form) keys(armed bool) (hints []frame.Hint) {
	if !armed {
		return []frame.Hint{notArmed()}
	}
	add := func(effect string, actions ...keymap.Action) {
		hints = append(hints, frame.Keys(keymap.Form, effect, actions...))
	}
	q := f.field()
	switch {
	case q.Type == bus.QuestionYesNo:
		hints = append(hints, frame.Hint{Keys: "y or n", Effect: "answers"})
		add("selects", keymap.Up, keymap.Down)
	case q.choice():
		add("or number selects", keymap.Up, keymap.Down)
		if q.MultiSelect {
			add("marks", keymap.Mark)
		}
	}
	add("answers", keymap.Accept)
	switch {
	case q.Default != "":
		hint := frame.Keys(keymap.Form, display.Cut(display.Line(q.Default), 20, "…"), keymap.Skip)
		hint.Keys += ":"
		hints = append(hints, hint)
	case q.omittable():
		add("skips", keymap.Skip)
	}
	if f.at > 0 {
		add("back", keymap.Previous)
	}
	if len(f.fields) > 1 {
		add("cancels all", keymap.Close)
		return hints
	}
	add("cancels", keymap.Close)
	return hints
}
