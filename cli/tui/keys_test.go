package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/keymap"
	"github.com/fettle-dev/fettle/cli/theme"
	"github.com/fettle-dev/fettle/cli/tui/pager"
	"github.com/fettle-dev/fettle/cli/tui/textfield"
	"github.com/fettle-dev/fettle/core/bus"
)

// Every key of the table has an effect where the table says so (UI-04).
func TestEveryKey(t *testing.T) {
	for _, k := range keymap.Table() {
		t.Run(string(k.Place)+" "+string(k.Action), func(t *testing.T) {
			for _, stroke := range append(k.Strokes, k.Also...) {
				switch k.Place {
				case keymap.Input:
					m := newRig(t, newFake()).m
					_, done := m.inputAction(k.Action)
					require.True(t, done || k.Action == keymap.NewLine || k.Action == keymap.Interrupt || k.Action == keymap.Leave)
				case keymap.Edit:
					require.True(t, new(textfield.Model).Do(k.Action, 80))
				case keymap.Everywhere:
					r := newRig(t, newFake())
					before := len(r.cmds)
					r.press(stroke)
					require.True(t, len(r.cmds) > before || r.m.detail || r.m.scrollAction(k.Action))
				case keymap.Completion:
					s := newFake()
					s.complete = commands
					r := newRig(t, s)
					r.typeIn("/c")
					r.until(r.m.completion.open)
					require.True(t, r.m.completionKey(stroke))
				case keymap.Search:
					r := newRig(t, newFake())
					r.press("ctrl+r", stroke)
					require.True(t, r.m.search == nil || r.m.search.words.Text() == "")
				case keymap.Approval, keymap.Reason, keymap.Form, keymap.List, keymap.Page, keymap.PageSearch:
					r := newRig(t, newFake())
					opened(r, k.Place)
					before := r.text()
					r.press(stroke)
					require.NotEqual(t, before, r.text(), stroke)
				default:
					t.Fatalf("no test of the keys of %s", k.Place)
				}
			}
		})
	}
}

// opened opens a part of the screen, with its content at the middle.
func opened(r *rig, place keymap.Place) {
	switch place {
	case keymap.Approval, keymap.Reason:
		q := editQuestion()
		q.Details.EditDetails.FileDiff = diffOf(100)
		asks(r, q)
		r.press("down", "down", "pgdown", "pgdown")
		if place == keymap.Reason {
			r.press("n", "x")
		}
	case keymap.Form:
		asks(r, bus.AskUserRequest{Questions: []bus.UserQuestion{
			{Question: "One?", Type: bus.QuestionText},
			{Question: lines(100, "- line"), Type: bus.QuestionChoice, MultiSelect: true, Optional: true, Options: []bus.UserOption{{Label: "a"}, {Label: "b"}, {Label: "c"}}},
		}})
		r.press("x", "enter", "down", "pgup", "pgup")
	case keymap.List:
		r.picks(manyPick(120))
		for range 40 {
			r.press("down")
		}
	default:
		text := make([]string, 100)
		for i := range text {
			text[i] = fmt.Sprint("line ", i)
		}
		text[10], text[70] = "a match", "a match"
		r.m.pager = pager.NewOutput("t", text)
		r.size(80, 24)
		r.press("/")
		r.typeIn("match")
		if place == keymap.Page {
			r.press("enter", "pgdown", "pgdown")
		}
	}
}

// The keys are displayed by ? with an empty input, also during work; elsewhere it is a
// character.
func TestHelpKey(t *testing.T) {
	r := newRig(t, newFake())
	r.press("?")
	require.NotNil(t, r.m.pager)
	require.Contains(t, r.text(), "Alt-Enter")
	r.press("esc")
	require.Nil(t, r.m.pager)
	r.typeIn("why?")
	require.Nil(t, r.m.pager)
	require.Equal(t, "why?", r.m.input.Text())
	r.m.input.Reset()
	r.typeIn(" ?")
	require.Nil(t, r.m.pager)
	r.m.input.Reset()
	r.send(batchMsg{keyOf("?"), keyOf("x")}) // typed text that arrives at once
	require.Equal(t, "?x", r.m.input.Text())
}

// Undo restores a replaced placeholder, deleted text survives sending, and a deleted
// placeholder can be inserted again with its content.
func TestUndoAndPlaceholders(t *testing.T) {
	r := newRig(t, newFake())
	content := lines(20, "line")
	r.send(tea.PasteMsg{Content: content})
	r.press("backspace")
	require.Empty(t, r.m.input.Text())
	r.press("ctrl+_")
	require.Equal(t, content, r.m.input.Value())
	r.press("ctrl+u")
	r.enter("other")
	r.until(func() bool { return r.m.turn == nil })
	r.press("ctrl+_")
	require.Empty(t, r.m.input.Text(), "undo does not go back beyond what was sent")
	r.press("ctrl+y")
	require.Equal(t, "[Pasted 21 lines]", r.m.input.Text())
	require.Equal(t, content, r.m.input.Value())
	require.Equal(t, []string{"other"}, r.s.texts())
}

// Ctrl-G and Ctrl-X Ctrl-E open the input in the editor, with pastes as text. The
// result replaces it, and undo restores it; an error leaves it unchanged.
func TestEditorOfInput(t *testing.T) {
	pasted := lines(20, "pasted")
	for _, keys := range []string{"ctrl+g", "ctrl+x ctrl+e"} {
		var got string
		result, failure := "edited\ntext\n", error(nil)
		r := newRig(t, newFake(), func(o *Options) {
			o.Edit = func(_ context.Context, name, content string) (string, error) {
				require.Equal(t, "input.md", name)
				got = content
				return result, failure
			}
		})
		edit := func() {
			before := len(r.cmds)
			r.press(strings.Fields(keys)...)
			require.Len(t, r.cmds[before:], 1) // releases the terminal to the editor
			r.send(r.m.editedInput())
		}
		r.typeIn("look: ")
		r.send(tea.PasteMsg{Content: pasted})
		edit()
		require.Equal(t, "look: "+pasted, got)
		require.Equal(t, "edited\ntext", r.m.input.Text())
		r.press("ctrl+_")
		require.Equal(t, "look: [Pasted 21 lines]", r.m.input.Text())
		result, failure = "", errors.New("no editor: set VISUAL or EDITOR")
		edit()
		require.Contains(t, r.text(), "no editor: set VISUAL or EDITOR")
		require.Equal(t, "look: [Pasted 21 lines]", r.m.input.Text())
	}
	r := newRig(t, newFake())
	r.press("ctrl+x")
	require.Contains(t, r.text(), "Ctrl-X …")
	r.press("y") // no pair: no effect
	require.Empty(t, r.m.input.Text())
	r.press("ctrl+g")
	require.Contains(t, r.text(), "this session has no editor")
}

// The search goes both ways, ignores case unless it is typed, and skips repeated
// entries. Esc keeps the input; undo restores it after Enter.
func TestSearchBothWays(t *testing.T) {
	s := newFake()
	s.inputs = []string{"Fix the parser", "write docs", "fix the lexer", "look", "fix the lexer"}
	r := newRig(t, s)
	r.typeIn("draft")
	r.press("ctrl+r")
	r.typeIn("fix")
	require.Equal(t, "fix the lexer", r.m.search.found())
	r.press("ctrl+r")
	require.Equal(t, "Fix the parser", r.m.search.found())
	r.press("ctrl+r")
	require.Equal(t, "Fix the parser", r.m.search.found())
	r.press("ctrl+s")
	require.Equal(t, "fix the lexer", r.m.search.found())
	r.press("esc")
	require.Equal(t, "draft", r.m.input.Text())
	r.press("ctrl+r")
	r.typeIn("F")
	require.Equal(t, "Fix the parser", r.m.search.found())
	r.press("enter")
	require.Equal(t, "Fix the parser", r.m.input.Text())
	r.press("ctrl+_")
	require.Equal(t, "draft", r.m.input.Text())
}

// The letters that match are marked, also in a path that is cut at its beginning. Text
// that is escaped has no marks.
func TestMarkedLetters(t *testing.T) {
	look := styles()
	marked := func(c interactive.Candidate, columns int) string {
		line, width := markedLabel(c, columns, theme.Style{}, &look)
		require.LessOrEqual(t, width, columns)
		hit := look.Accent
		hit.Bold, hit.Underline = true, true
		begin, _, _ := strings.Cut(hit.Render("|"), "|")
		return ansi.Strip(strings.ReplaceAll(strings.ReplaceAll(line, begin, "<"), theme.Reset, ">"))
	}
	c := interactive.Candidate{Label: "@a/日本/key", Marks: []int{3, 4, 5, 10, 11}}
	require.Equal(t, "@a/<日>本/<ke>y", marked(c, 40))
	require.Equal(t, "…本/<ke>y", marked(c, 7))
	require.Equal(t, "/he…", marked(interactive.Candidate{Label: "/helper"}, 4))
	require.Equal(t, "a<U+001B>b", marked(interactive.Candidate{Label: "a\x1bb", Marks: []int{0, 1}}, 40))
}

// The screens of the input, in two more sizes (UI-04).
func TestInputScreens(t *testing.T) {
	many := func(_ context.Context, text string, cursor int) (found interactive.Completions) {
		for i := range 30 {
			found.Items = append(found.Items, interactive.Candidate{Text: fmt.Sprintf("/command-%02d", i), Description: strings.Repeat("does things ", i)})
		}
		found.To = cursor
		return found
	}
	screens := map[string]func(r *rig){
		"keys": func(r *rig) { r.press("?") },
		"search": func(r *rig) {
			r.m.history = newHistory([]string{"fix the parser", "write docs", "fix the lexer"})
			r.press("ctrl+r")
			r.typeIn("the")
			r.press("ctrl+r")
		},
		"undo": func(r *rig) {
			r.typeIn("keep this and")
			r.press("ctrl+w", "ctrl+w", "ctrl+_")
		},
		"completion-files": func(r *rig) {
			r.s.complete = func(_ context.Context, _ string, cursor int) interactive.Completions {
				var found []interactive.Candidate
				for _, path := range []string{"cli/tui/keys.go", "cli/tui/keys_test.go", "cli/keymap/", "docs/日本/mon keys.md", strings.Repeat("long/", 45) + "keys.txt"} {
					found = append(found, interactive.Candidate{Text: "@" + path + " ", Label: "@" + path, Marks: []int{1, 5, 9}})
				}
				return interactive.Completions{From: 5, To: cursor, Items: found}
			}
			r.typeIn("read @keys")
			r.sees("keys.txt")
			r.press("down")
		},
		"completion-many": func(r *rig) {
			r.s.complete = many
			r.typeIn("/")
			r.sees("/command")
			r.press("down", "down", "down", "down", "down", "down", "down")
		},
	}
	for name, play := range screens {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, newFake())
			r.plays(interactive.Event{Kind: interactive.EventMessage, Text: "Ready."}) // no start screen
			play(r)
			r.golden(name, size{200, 50})
		})
	}
}

// UI-04: Esc twice at an empty input lists the earlier prompts; other keys between, or
// text, do not. The prompt returns to an empty input.
func TestEscTwice(t *testing.T) {
	r := newRig(t, newFake())
	r.press("esc")
	require.Contains(t, r.text(), "esc again goes back")
	r.press("left", "esc")
	require.Empty(t, r.s.texts())
	r.pass(quitFor)
	require.NotContains(t, r.text(), "esc again")
	r.press("esc")
	require.Empty(t, r.s.texts())
	r.s.work = func(_ context.Context, _ string, tell func(interactive.Event)) {
		tell(interactive.Event{Kind: interactive.EventInput, Text: "the prompt"})
	}
	r.press("esc")
	r.until(func() bool { return r.m.turn == nil })
	require.Equal(t, []string{"/rewind"}, r.s.texts())
	require.Equal(t, "the prompt", r.m.input.Text())
	r.press("esc", "esc")
	require.Len(t, r.s.texts(), 1)
}
