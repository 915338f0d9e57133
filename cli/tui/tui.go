// Package tui is the full-screen terminal front end of an interactive session. It
// displays the events of the session and passes the user's input and answers to it.
//
// The package uses the alternate screen of the terminal and writes the conversation
// to the scrollback when it ends. Everything on the screen can therefore be drawn
// again at any time: folded parts expand, a resized window is redrawn completely, and
// the text of a retried answer disappears. Text in the scrollback of a terminal could
// not be changed.
//
// The spinner, the bar of the used context and the help of pages and lists are those of
// charm.land/bubbles/v2. The spinner moves by the timer of the session instead of its own, so that nothing wakes an
// idle session. The packages below this one state why they draw text fields, windows, lists
// and pages themselves.
package tui

import (
	"context"
	"os"
	"time"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/theme"
)

// Options configure [Run].
type Options struct {
	Session interactive.Session // required
	In, Out *os.File            // the terminal; required
	Theme   theme.Theme         // zero value: no colours
	Light   bool                // the terminal's background is light, as far as known
	// Background returns the theme for a light or dark background of the terminal. If it
	// is set, the terminal is asked for its background, and Theme is for terminals that do
	// not answer.
	Background func(light bool) theme.Theme
	// Themes returns a theme by its name, as in the setting ui.theme, for a light or dark
	// background. nil: the theme cannot be changed.
	Themes func(name string, light bool) theme.Theme
	// Environ describes the terminal, as "NAME=value" strings; nil: nothing is known
	// about it.
	Environ []string
	// First is submitted when the session has started, as if typed; "": none.
	First string
	// Edit opens content in the user's editor, which gets the terminal meanwhile, and
	// returns the saved text; name is the file name. nil: neither requests nor the
	// input can be edited.
	Edit func(ctx context.Context, name, content string) (string, error)
	// SavedIn is the file of saved approvals, as displayed; "": unknown.
	SavedIn string
	// ReadImage returns the image of the clipboard. nil: it cannot be read.
	ReadImage func(ctx context.Context) ([]byte, error)
	// NoAnimation disables spinners and elapsed times, so that an idle screen does
	// not change.
	NoAnimation bool
	Notify      Notification     // "": NotifyAuto
	Now         func() time.Time // nil: [time.Now]
	// OnDefect receives a panic with its stack. nil drops it.
	OnDefect func(err error)
}

// Run shows the session until the user leaves, the session ends, ctx ends or the
// terminal closes. It then cancels running work, waits for it and restores the
// terminal; no goroutine and no subscription remains. It returns an error only for an
// internal error or a failure of the terminal.
func Run(ctx context.Context, o Options) error {
	return run(ctx, o)
}
