// Package keymap lists the keys of the terminal session, as data: each key with its
// place, its action and its description. The terminal finds the action of a key in it,
// its help and the documentation are written from it. It knows neither the terminal nor
// the session.
package keymap

import (
	"strings"
	"sync"
)

// Place is the part of the screen in which a key applies.
type Place string

// The places, in the order of the help.
const (
	Input      Place = "Input"
	Edit       Place = "Editing"      // in every text field
	Everywhere Place = "Conversation" // while no dialog has the keyboard, and some also then
	Completion Place = "Completion"
	Search     Place = "History search"
	Approval   Place = "Approvals"
	Reason     Place = "Reason of a denial"
	Form       Place = "Questions"
	List       Place = "Lists"
	Page       Place = "Pages"            // pages to read, output
	PageSearch Place = "Search in a page" // while the text to find is typed
)

// Action names the effect of a key.
type Action string

// The actions of the input.
const (
	Send         Action = "send"
	NewLine      Action = "new-line"
	Older        Action = "older"
	Newer        Action = "newer"
	SearchInputs Action = "search"
	Complete     Action = "complete"
	OpenEditor   Action = "editor"
	PasteImage   Action = "paste-image"
	OpenOutput   Action = "output"
	Help         Action = "help"
	CancelWork   Action = "cancel-work"
	Interrupt    Action = "interrupt"
	Leave        Action = "leave"
	NextMode     Action = "next-mode"
)

// The actions in a text.
const (
	Left            Action = "left"
	Right           Action = "right"
	RowUp           Action = "row-up"
	RowDown         Action = "row-down"
	WordLeft        Action = "word-left"
	WordRight       Action = "word-right"
	LineStart       Action = "line-start"
	LineEnd         Action = "line-end"
	TextStart       Action = "text-start"
	TextEnd         Action = "text-end"
	DeleteLeft      Action = "delete-left"
	DeleteRight     Action = "delete-right"
	DeleteWordLeft  Action = "delete-word-left"
	DeleteWordRight Action = "delete-word-right"
	DeleteToStart   Action = "delete-to-start"
	DeleteToEnd     Action = "delete-to-end"
	Yank            Action = "yank"
	YankOlder       Action = "yank-older"
	Transpose       Action = "transpose"
	Undo            Action = "undo"
	Redo            Action = "redo"
)

// The actions of the conversation, of lists and of pages.
const (
	Details    Action = "details"
	PageUp     Action = "page-up"
	PageDown   Action = "page-down"
	HalfUp     Action = "half-page-up"
	HalfDown   Action = "half-page-down"
	ScrollUp   Action = "scroll-up"
	ScrollDown Action = "scroll-down"
	ToStart    Action = "to-start"
	ToEnd      Action = "to-end"
	Redraw     Action = "redraw"
	Suspend    Action = "suspend"

	FindText     Action = "find"
	FindNext     Action = "find-next"
	FindPrevious Action = "find-previous"

	Up     Action = "up"
	Down   Action = "down"
	Take   Action = "take"
	Accept Action = "accept"
	Close  Action = "close"

	Mark     Action = "mark"
	Skip     Action = "skip"
	Previous Action = "previous"
	Back     Action = "back"
)

// Key is a row of the table.
type Key struct {
	Place  Place
	Action Action
	// Strokes are the keys as the terminal library names them, as "ctrl+r". Two of
	// them separated by a space are pressed one after the other.
	Strokes []string
	// Also are further strokes that the help omits, such as the same key as other
	// terminals report it.
	Also  []string
	About string // the effect, in Markdown; "": not in the help
}

// Table returns the keys, in the order of the help.
func Table() []Key {
	return []Key{
		{Input, Send, []string{"enter"}, []string{"kpenter"}, "sends the input, or queues it during work. After `\\` it begins a new line"},
		{Input, NewLine, []string{"alt+enter", "ctrl+j", "shift+enter"}, []string{"ctrl+enter"}, "begins a new line; Shift-Enter only if the terminal distinguishes it from Enter"},
		{Input, Older, []string{"up", "ctrl+p"}, nil, "moves up a row, and from the first row to older input. With an empty input it restores the last queued input"},
		{Input, Newer, []string{"down", "ctrl+n"}, nil, "moves down a row, and from the last row to newer input"},
		{Input, SearchInputs, []string{"ctrl+r"}, nil, "searches older input"},
		{Input, Complete, []string{"tab"}, nil, "completes, or opens the list of completions"},
		{Input, OpenEditor, []string{"ctrl+g", "ctrl+x ctrl+e"}, nil, "opens the input in `$VISUAL` or `$EDITOR`"},
		{Input, PasteImage, []string{"ctrl+v"}, nil, "inserts the image of the clipboard"},
		{Input, Help, []string{"?"}, nil, "shows the keys, with an empty input. After a space it is a character"},
		{Input, OpenOutput, []string{"alt+o"}, nil, "opens the output of the last call as a page, with line numbers. If it was shortened, the page shows the file with the whole output"},
		{Input, CancelWork, []string{"esc"}, nil, "cancels the work; twice at an empty input, goes back to an earlier prompt"},
		{Input, Interrupt, []string{"ctrl+c"}, nil, "cancels the work; otherwise clears the input; with an empty input, twice quits"},
		{Input, Leave, []string{"ctrl+d"}, nil, "quits, with an empty input; during work, when pressed twice"},
		{Input, NextMode, []string{"shift+tab"}, nil, "selects the next approval mode: default, auto_edit, auto, plan"},

		{Edit, Left, []string{"left", "ctrl+b"}, nil, "moves left"},
		{Edit, Right, []string{"right", "ctrl+f"}, nil, "moves right"},
		{Edit, RowUp, []string{"up"}, nil, ""},
		{Edit, RowDown, []string{"down"}, nil, ""},
		{Edit, NewLine, []string{"alt+enter", "ctrl+j", "shift+enter"}, []string{"ctrl+enter"}, ""},
		{Edit, WordLeft, []string{"alt+b", "ctrl+left", "alt+left"}, nil, "moves left a word"},
		{Edit, WordRight, []string{"alt+f", "ctrl+right", "alt+right"}, nil, "moves right a word"},
		{Edit, LineStart, []string{"home", "ctrl+a"}, nil, "moves to the start of the line"},
		{Edit, LineEnd, []string{"end", "ctrl+e"}, nil, "moves to the end of the line"},
		{Edit, TextStart, []string{"alt+<"}, []string{"alt+shift+,"}, "moves to the start of the text"},
		{Edit, TextEnd, []string{"alt+>"}, []string{"alt+shift+."}, "moves to the end of the text"},
		{Edit, DeleteLeft, []string{"backspace", "ctrl+h"}, []string{"shift+backspace"}, "deletes the character before the cursor"},
		{Edit, DeleteRight, []string{"delete", "ctrl+d"}, nil, "deletes the character at the cursor"},
		{Edit, DeleteWordLeft, []string{"ctrl+w", "alt+backspace"}, []string{"ctrl+backspace"}, "deletes the word before the cursor"},
		{Edit, DeleteWordRight, []string{"alt+d", "ctrl+delete"}, []string{"alt+delete"}, "deletes the word after the cursor"},
		{Edit, DeleteToStart, []string{"ctrl+u"}, nil, "deletes to the start of the line"},
		{Edit, DeleteToEnd, []string{"ctrl+k"}, nil, "deletes to the end of the line, or the line end"},
		{Edit, Yank, []string{"ctrl+y"}, nil, "inserts the text that the last four keys deleted; those pressed in a row count as one"},
		{Edit, YankOlder, []string{"alt+y"}, nil, "after Ctrl-Y, replaces the inserted text by an older one"},
		{Edit, Transpose, []string{"ctrl+t"}, nil, "exchanges the characters around the cursor"},
		{Edit, Undo, []string{"ctrl+_"}, []string{"ctrl+shift+-", "ctrl+-", "ctrl+/"}, "undoes a change of the text"},
		{Edit, Redo, []string{"alt+_", "ctrl+shift+z"}, []string{"alt+shift+-"}, "repeats an undone change"},

		{Everywhere, Details, []string{"ctrl+o"}, nil, "shows or folds details: thoughts, output, results, long prompts"},
		{Everywhere, PageUp, []string{"pgup"}, nil, "scrolls the conversation up a page"},
		{Everywhere, PageDown, []string{"pgdown"}, nil, "scrolls it down a page"},
		{Everywhere, ScrollUp, []string{"shift+up"}, nil, "scrolls it up a row, as the mouse wheel does"},
		{Everywhere, ScrollDown, []string{"shift+down"}, nil, "scrolls it down a row"},
		{Everywhere, ToStart, []string{"ctrl+home"}, nil, "moves to its start"},
		{Everywhere, ToEnd, []string{"ctrl+end"}, nil, "moves to its end"},
		{Everywhere, Redraw, []string{"ctrl+l"}, nil, "redraws the screen"},
		{Everywhere, Suspend, []string{"ctrl+z"}, nil, "suspends the program; `fg` resumes it"},

		{Completion, Up, []string{"up", "ctrl+p"}, nil, "selects the previous completion"},
		{Completion, Down, []string{"down", "ctrl+n"}, nil, "selects the next completion"},
		{Completion, Take, []string{"tab"}, nil, "inserts it; a directory opens"},
		{Completion, Accept, []string{"enter"}, []string{"kpenter"}, "inserts it, and sends a command without arguments. If the input is already a complete entry or a directory, it is sent"},
		{Completion, Close, []string{"esc"}, nil, "closes the list"},

		{Search, Older, []string{"ctrl+r", "up"}, nil, "finds the next older match"},
		{Search, Newer, []string{"ctrl+s", "down"}, nil, "finds the next newer match"},
		{Search, Accept, []string{"enter", "tab", "right"}, []string{"kpenter"}, "inserts the match, to be changed or sent"},
		{Search, Close, []string{"esc", "ctrl+g", "ctrl+c"}, nil, "ends the search"},

		{Approval, Up, []string{"up", "shift+tab", "ctrl+p"}, nil, "selects the previous answer"},
		{Approval, Down, []string{"down", "tab", "ctrl+n"}, nil, "selects the next answer"},
		{Approval, Accept, []string{"enter"}, []string{"kpenter"}, "gives the selected answer. The letter or number of an answer gives it at once"},
		{Approval, Close, []string{"esc", "ctrl+c"}, nil, "denies the call"},
		{Approval, ScrollUp, []string{"shift+up"}, nil, "scrolls the call up a row, as the mouse wheel does"},
		{Approval, ScrollDown, []string{"shift+down"}, nil, "scrolls it down a row"},
		{Approval, PageUp, []string{"pgup", "ctrl+b"}, nil, "scrolls it up a page"},
		{Approval, PageDown, []string{"pgdown", "space", "ctrl+f"}, nil, "scrolls it down a page"},
		{Approval, HalfUp, []string{"ctrl+u"}, nil, "scrolls it up half a page"},
		{Approval, HalfDown, []string{"ctrl+d"}, nil, "scrolls it down half a page"},
		{Approval, ToStart, []string{"home"}, nil, "moves to its start"},
		{Approval, ToEnd, []string{"end"}, nil, "moves to its end"},

		{Reason, Accept, []string{"enter"}, []string{"kpenter"}, "denies the call, with the reason if one is typed"},
		{Reason, Back, []string{"esc"}, nil, "returns to the answers; the reason remains"},
		{Reason, Close, []string{"ctrl+c"}, nil, "denies the call without a reason"},
		{Reason, ScrollUp, []string{"shift+up"}, nil, "scrolls the call up a row"},
		{Reason, ScrollDown, []string{"shift+down"}, nil, "scrolls it down a row"},
		{Reason, PageUp, []string{"pgup"}, nil, "scrolls it up a page"},
		{Reason, PageDown, []string{"pgdown"}, nil, "scrolls it down a page"},

		{Form, Up, []string{"up"}, nil, "selects the previous answer"},
		{Form, Down, []string{"down"}, nil, "selects the next answer"},
		{Form, Mark, []string{"space"}, nil, "marks the selected answer, if several may be chosen"},
		{Form, Accept, []string{"enter"}, []string{"kpenter"}, "gives the selected, marked or typed answer. A number selects an answer; `y` or `n` answers a question for yes or no at once"},
		{Form, Skip, []string{"tab"}, nil, "skips a question that may be left open"},
		{Form, Previous, []string{"shift+tab"}, nil, "returns to the previous question"},
		{Form, Close, []string{"esc", "ctrl+c"}, nil, "cancels all questions"},
		{Form, PageUp, []string{"pgup", "ctrl+b"}, nil, "scrolls the question up a page"},
		{Form, PageDown, []string{"pgdown", "ctrl+f"}, nil, "scrolls it down a page"},
		{Form, HalfUp, []string{"ctrl+u"}, nil, "scrolls it up half a page"},
		{Form, HalfDown, []string{"ctrl+d"}, nil, "scrolls it down half a page"},
		{Form, ToStart, []string{"home"}, nil, "moves to its start"},
		{Form, ToEnd, []string{"end"}, nil, "moves to its end"},

		{List, Up, []string{"up", "ctrl+p"}, nil, "selects the previous entry, as the mouse wheel does"},
		{List, Down, []string{"down", "ctrl+n"}, nil, "selects the next entry"},
		{List, PageUp, []string{"pgup"}, nil, "moves up a page"},
		{List, PageDown, []string{"pgdown"}, nil, "moves down a page"},
		{List, ToStart, []string{"home"}, nil, "selects the first entry"},
		{List, ToEnd, []string{"end"}, nil, "selects the last entry"},
		{List, Accept, []string{"enter"}, []string{"kpenter"}, "chooses the selected entry. Typed text filters the list"},
		{List, Close, []string{"esc", "ctrl+c"}, nil, "closes the list"},

		{Page, ScrollUp, []string{"up"}, nil, "scrolls up a row, as the mouse wheel does"},
		{Page, ScrollDown, []string{"down"}, nil, "scrolls down a row"},
		{Page, PageUp, []string{"pgup", "ctrl+b"}, nil, "scrolls up a page"},
		{Page, PageDown, []string{"pgdown", "space", "ctrl+f"}, nil, "scrolls down a page"},
		{Page, HalfUp, []string{"ctrl+u"}, nil, "scrolls up half a page"},
		{Page, HalfDown, []string{"ctrl+d"}, nil, "scrolls down half a page"},
		{Page, ToStart, []string{"home", "g"}, nil, "moves to the start"},
		{Page, ToEnd, []string{"end", "G"}, nil, "moves to the end"},
		{Page, FindText, []string{"/"}, nil, "searches a page; case is ignored"},
		{Page, FindNext, []string{"n"}, nil, "moves to the next match"},
		{Page, FindPrevious, []string{"N"}, nil, "moves to the previous match"},
		{Page, OpenOutput, []string{"alt+o"}, nil, "on the output of a call, lists the earlier calls with output"},
		{Page, Close, []string{"esc", "q", "enter"}, []string{"ctrl+c", "kpenter"}, "closes the page"},

		{PageSearch, Accept, []string{"enter"}, []string{"kpenter"}, "finds the text"},
		{PageSearch, Close, []string{"esc"}, []string{"ctrl+c"}, "ends the search"},
	}
}

// key identifies a stroke in a place.
type key struct {
	place  Place
	stroke string
}

// index has the actions by place and stroke, and the first strokes of pairs with the
// action "".
var index = sync.OnceValue(func() map[key]Action {
	actions := map[key]Action{}
	for _, k := range Table() {
		for _, strokes := range [][]string{k.Strokes, k.Also} {
			for _, stroke := range strokes {
				actions[key{k.Place, stroke}] = k.Action
				if first, _, pair := strings.Cut(stroke, " "); pair {
					actions[key{k.Place, first}] = ""
				}
			}
		}
	}
	return actions
})

// Find returns the action of a stroke in a place; "" if it has none.
func Find(p Place, stroke string) Action { return index()[key{p, stroke}] }

// FindKey returns the action of a key in a place: that of the text that it types, otherwise
// that of its stroke. Upper and lower case differ in the text.
func FindKey(p Place, stroke, text string) Action {
	if action := Find(p, text); action != "" {
		return action
	}
	return Find(p, stroke)
}

// Short returns the first stroke of each action in a place, for hints: "↑↓", "pgup pgdn".
func Short(p Place, actions ...Action) string {
	var b strings.Builder
	for _, action := range actions {
		stroke := first()[key{p, string(action)}]
		switch stroke {
		case "up":
			stroke = "↑"
		case "down":
			stroke = "↓"
		case "pgdown":
			stroke = "pgdn"
		}
		if b.Len() > 0 && stroke != "↓" {
			b.WriteByte(' ')
		}
		b.WriteString(stroke)
	}
	return b.String()
}

// first has the first stroke of each action, by place and action.
var first = sync.OnceValue(func() map[key]string {
	strokes := map[key]string{}
	for _, k := range Table() {
		strokes[key{k.Place, string(k.Action)}] = k.Strokes[0]
	}
	return strokes
})

// Begins reports whether a stroke is the first of a pair in one of the places.
func Begins(stroke string, places ...Place) bool {
	for _, p := range places {
		if action, known := index()[key{p, stroke}]; known && action == "" {
			return true
		}
	}
	return false
}
