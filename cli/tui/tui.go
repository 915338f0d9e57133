// Package tui is the interactive session in a terminal: it shows what a session
// tells and takes what a person types and answers.
//
// It takes the whole window, on the terminal's alternate screen, and writes the
// conversation to the terminal's scrollback when it ends. So all that is shown can
// be drawn anew at any time: what was folded unfolds, a window that changes its
// size leaves nothing half drawn, and an answer that is void goes away. What a
// terminal has scrolled off cannot be drawn again.
package tui

import (
	"context"
	"os"
	"time"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/theme"
)

// Options are what [Run] works with.
type Options struct {
	Session interactive.Session // required
	In, Out *os.File            // the terminal; required
	Theme   theme.Theme         // the zero value shows everything without colours
	// Environ is what the terminal is judged by, "NAME=value" each; nil: nothing is
	// known of it.
	Environ []string
	// First is submitted at once, as if it had been typed; "": nothing is.
	First string
	// Edit lets a person change a text in an editor of their own, which has the
	// terminal meanwhile, and returns what was saved; name is what the file is called.
	// nil: no question offers it.
	Edit func(ctx context.Context, name, content string) (string, error)
	// NoAnimation keeps the screen as it is while nothing happens: nothing spins, and
	// no time that passes is shown.
	NoAnimation bool
	Now         func() time.Time // nil: [time.Now]
	// OnDefect receives a panic, with its stack. nil drops it.
	OnDefect func(err error)
}

// Run shows the session until the person leaves it, the session ends itself, ctx
// ends or the terminal is gone. It then calls off what still runs, waits for it and
// leaves the terminal as it was; no goroutine and no subscription stays. What ended
// it is an error only where it was a defect or the terminal failed.
func Run(ctx context.Context, o Options) error {
	return run(ctx, o)
}
