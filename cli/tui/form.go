package tui

import (
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/markdown"
	"github.com/fettle-dev/fettle/cli/tui/blocks"
	"github.com/fettle-dev/fettle/core/bus"
)

// form asks the questions of a [bus.AskUserRequest] one after another.
type form struct {
	request bus.AskUserRequest
	fields  []*field
	at      int
	scroller
	wrong   string
	columns int  // as last displayed
	moved   bool // the user moved among the options
}

// field is one question with the answer so far.
type field struct {
	bus.UserQuestion
	words  editor
	chosen map[int]bool // marked options of a multiple choice
	at     int          // index of the selected option; len(Options): free text
	answer string
	left   bool // skipped
}

func newForm(q bus.AskUserRequest) *form {
	f := &form{request: q}
	for _, one := range q.Questions {
		f.fields = append(f.fields, &field{UserQuestion: one, chosen: map[int]bool{}})
	}
	return f
}

// choice reports whether the question has options; otherwise the answer is free text.
func (f *field) choice() bool { return f.Type == bus.QuestionChoice && len(f.Options) > 0 }

// typing reports whether keys are text now.
func (f *field) typing() bool {
	return f.Type != bus.QuestionYesNo && (!f.choice() || f.at == len(f.Options))
}

// omittable reports whether the question may be skipped.
func (f *field) omittable() bool { return f.Optional || f.Default != "" }

func (f *form) field() *field {
	if f.at < len(f.fields) {
		return f.fields[f.at]
	}
	return &field{UserQuestion: bus.UserQuestion{Type: bus.QuestionText}}
}

func (f *form) view(v blocks.Style, rows int, armed bool) ([]string, *tea.Cursor) {
	f.columns = v.Columns
	q := f.field()
	foot := []string{v.Theme.Dim.Render(display.Cut(f.keys(armed), v.Columns, "…"))}
	if f.wrong != "" {
		foot = append([]string{v.Theme.Warning.Render(display.Cut(f.wrong, v.Columns, "…"))}, foot...)
	}
	var cursor *tea.Cursor
	var typed []string
	if q.typing() {
		typed, cursor = f.typed(v, q)
	}
	body, selected := f.body(v, q)
	room := max(rows-1-len(foot)-len(typed), 1)
	if len(body) > room {
		room = max(room-1, 1)
	}
	if selected >= 0 && f.moved { // keep the option visible; the question comes first
		f.offset = max(min(f.offset, selected), selected-room+1)
	}
	lines := append([]string{titled(v, f.title(q))}, f.window(body, room)...)
	if where := f.where(); where != "" {
		foot = append(foot, v.Theme.Dim.Render(display.Cut(where, v.Columns, "…")))
	}
	if cursor != nil {
		cursor.Y += len(lines)
	}
	lines = append(lines, typed...)
	return append(lines, foot...), cursor
}

// title names the requester and the number of the question.
func (f *form) title(q *field) string {
	title := "The model asks"
	switch {
	case f.request.Program:
		title = "One question"
	case f.request.Server != "":
		title = "The MCP server " + f.request.Server + " asks"
	case f.request.Subagent != "":
		title = "The subagent " + f.request.Subagent + " asks"
	}
	if len(f.fields) > 1 {
		title += fmt.Sprintf(" (%d of %d)", f.at+1, len(f.fields))
	}
	if q.Header != "" {
		title += ": " + q.Header
	}
	return title
}

// body returns the question with its options, and the line of the selected option, -1
// for none.
func (f *form) body(v blocks.Style, q *field) (lines []string, selected int) {
	selected = -1
	lines = blocks.Split(strings.Trim(markdown.Render(q.Question, v.Columns, *v.Theme), "\n"))
	if !q.choice() {
		return lines, selected
	}
	for i, o := range q.Options {
		if i == q.at {
			selected = len(lines)
		}
		lines = append(lines, f.option(v, q, i, o.Label)...)
		if o.Description != "" {
			for _, line := range blocks.Folded(o.Description, max(v.Columns-6, 1)) {
				lines = append(lines, "      "+v.Theme.Dim.Render(line))
			}
		}
	}
	if q.at == len(q.Options) {
		selected = len(lines)
	}
	return append(lines, f.option(v, q, len(q.Options), "other (type your answer)")...), selected
}

func (f *form) option(v blocks.Style, q *field, i int, label string) []string {
	mark := "  "
	if i == q.at {
		mark = "> "
	}
	box := ""
	if q.MultiSelect && i < len(q.Options) {
		box = "[ ] "
		if q.chosen[i] {
			box = "[x] "
		}
	}
	lines := blocks.Folded(fmt.Sprintf("%s%d  %s%s", mark, i+1, box, display.Line(label)), v.Columns)
	if i == q.at {
		for n := range lines {
			lines[n] = v.Theme.Selected.Render(lines[n])
		}
	}
	return lines
}

// typed returns the text field.
func (f *form) typed(v blocks.Style, q *field) ([]string, *tea.Cursor) {
	text, y, x := q.words.view(max(v.Columns-2, 2), 4)
	if q.words.text == "" && q.Placeholder != "" {
		text = []string{v.Theme.Dim.Render(display.Cut(display.Line(q.Placeholder), v.Columns-2, "…"))}
	}
	for i := range text {
		mark := "  "
		if i == 0 {
			mark = v.Theme.Accent.Render("> ")
		}
		text[i] = mark + text[i]
	}
	return text, tea.NewCursor(2+x, y)
}

// keys lists the available keys.
func (f *form) keys(armed bool) string {
	if !armed {
		return "…"
	}
	q := f.field()
	keys := []string{"enter answers"}
	switch {
	case q.Type == bus.QuestionYesNo:
		keys = []string{"[y]es", "[n]o"}
	case q.choice() && q.MultiSelect:
		keys = []string{"↑↓", "space marks", "enter answers"}
	case q.choice():
		keys = []string{"↑↓", "enter chooses"}
	}
	if q.omittable() {
		out := "tab skips it"
		if q.Default != "" {
			out = "tab: " + display.Cut(display.Line(q.Default), 20, "…")
		}
		keys = append(keys, out)
	}
	if f.at > 0 {
		keys = append(keys, "shift+tab back")
	}
	return strings.Join(append(keys, "esc cancels all questions"), " · ")
}

func (f *form) paste(text string) bool {
	q := f.field()
	if q.typing() {
		q.words.paste(text)
	}
	return q.typing()
}

func (f *form) means(k tea.KeyPressMsg) meaning {
	switch q := f.field(); {
	case q.typing() || k.Text == " ":
		return taken
	case q.Type == bus.QuestionYesNo:
		if strings.EqualFold(k.Text, "y") || strings.EqualFold(k.Text, "n") {
			return answers
		}
	case len(k.Text) == 1 && k.Text >= "1" && k.Text <= "9":
		return taken
	}
	return stray
}

func (f *form) failed(why string) { f.wrong = why }

func (f *form) key(k tea.KeyPressMsg) (bus.Answer, tea.Cmd) {
	f.wrong = ""
	q := f.field()
	switch stroke := k.Keystroke(); {
	case stroke == "esc" || stroke == "ctrl+c":
		return bus.AskUserResponse{CorrelationID: f.request.CorrelationID, Answers: map[string]string{}, Cancelled: true}, nil
	case len(f.fields) == 0:
		return f.next(), nil
	case stroke == "shift+tab":
		f.at, f.offset, f.moved = max(f.at-1, 0), 0, false
		f.field().left = false
	case stroke == "tab" && q.omittable():
		q.left = true
		return f.next(), nil
	case q.Type == bus.QuestionYesNo:
		return f.yesNoKey(q, k), nil
	case stroke == "enter" || stroke == "kpenter":
		return f.enter(q), nil
	case q.choice() && f.optionKey(q, k, stroke):
	case q.typing():
		if !editKey(&q.words, k, f.columns-2) {
			f.scroller.key(stroke)
		}
	default:
		f.scroller.key(stroke)
	}
	return nil, nil
}

func (f *form) yesNoKey(q *field, k tea.KeyPressMsg) bus.Answer {
	switch strings.ToLower(k.Text) {
	case "y":
		q.answer = "yes"
	case "n":
		q.answer = "no"
	default:
		if !f.scroller.key(k.Keystroke()) {
			f.wrong = "Type y or n."
		}
		return nil
	}
	return f.next()
}

// optionKey handles a key that moves between options or marks one, and reports
// whether it was one.
func (f *form) optionKey(q *field, k tea.KeyPressMsg, stroke string) bool {
	last := len(q.Options)
	switch {
	case stroke == "up":
		f.moved = true
		q.at = max(q.at-1, 0)
	case stroke == "down":
		f.moved = true
		q.at = min(q.at+1, last)
	case q.at == last: // any other key is text
		return false
	case stroke == "space" && q.MultiSelect:
		q.chosen[q.at] = !q.chosen[q.at]
	case len(k.Text) == 1 && k.Text >= "1" && k.Text <= "9":
		n := int(k.Text[0] - '1')
		if n > last {
			f.wrong = "There is no option " + k.Text + "."
			return true
		}
		q.at, f.moved = n, true
		if q.MultiSelect && n < last {
			q.chosen[n] = !q.chosen[n]
		}
	default:
		return false
	}
	return true
}

// enter accepts the selected option or the typed text as the answer.
func (f *form) enter(q *field) bus.Answer {
	switch words := strings.TrimSpace(q.words.value()); {
	case q.typing() && words == "" && q.omittable():
		q.left = true
		return f.next()
	case q.typing() && words == "":
		f.wrong = "An answer is required; esc cancels all questions."
		return nil
	case q.typing():
		q.answer = words
	case q.MultiSelect:
		var labels []string
		for i, o := range q.Options {
			if q.chosen[i] {
				labels = append(labels, o.Label)
			}
		}
		if len(labels) == 0 {
			f.wrong = "Mark at least one with space."
			return nil
		}
		q.answer = strings.Join(labels, ", ")
	default:
		q.answer = q.Options[q.at].Label
	}
	return f.next()
}

// next moves to the next question, or returns all answers after the last.
func (f *form) next() bus.Answer {
	f.offset, f.moved = 0, false
	if f.at++; f.at < len(f.fields) {
		f.fields[f.at].left = false
		return nil
	}
	answers := map[string]string{}
	for i, q := range f.fields {
		if !q.left {
			answers[strconv.Itoa(i)] = q.answer
		}
	}
	return bus.AskUserResponse{CorrelationID: f.request.CorrelationID, Answers: answers}
}
