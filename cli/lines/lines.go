// Package lines is the front end for terminals without cursor movement and for screen
// readers: it displays an interactive session line by line, reads its input as lines, and
// prints no escape sequences. It knows a session only as an [interactive.Session].
package lines

import (
	"context"
	"io"
	"math"
	"os"
	"os/signal"
	"strings"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/interactive"
)

// Options configure [Run].
type Options struct {
	Session interactive.Session
	In      io.Reader
	Out     io.Writer
	First   string // submitted at the start; "": nothing
	SavedIn string // the file of saved approvals, as displayed
	Bell    bool   // rings when a question waits
}

// Run displays an interactive session until the user leaves it.
//
// A line that ends with a backslash continues on the next line. Ctrl-C cancels the
// running turn; at the prompt, pressing it twice leaves the session. Ctrl-D leaves
// the session, and so does the end of ctx. Ctrl-C must not end ctx.
func Run(ctx context.Context, o Options) {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	l := newLines(o, interrupts)
	defer l.attach(ctx)()
	l.lead(ctx, o.First)
}

// lines runs a session line by line.
type lines struct {
	*approval.Terminal // the approver, and the source of input lines
	session            interactive.Session
	interrupt          <-chan os.Signal
	live               *display.Live

	typed   string            // the last submitted input
	awaited map[string]func() // by call id: waits for the output of a running call
}

func newLines(o Options, interrupt <-chan os.Signal) *lines {
	l := &lines{Terminal: approval.NewTerminal(o.In, display.NewScreen(o.Out), false), session: o.Session, interrupt: interrupt, awaited: map[string]func(){}}
	if display.IsTerminal(o.In) {
		l.Tty, _ = o.In.(*os.File)
	}
	l.Bell, l.SavedIn = o.Bell, o.SavedIn
	l.Columns = func() int { return display.ProseColumns(o.Out, display.UsualColumns) }
	l.Room = func() int { return display.ProseColumns(o.Out, math.MaxInt) }
	return l
}

// attach shows the output of calls and the approval requests until detach is called.
func (l *lines) attach(ctx context.Context) (detach func()) {
	var stop func()
	l.live, stop = display.AttachLive(context.WithoutCancel(ctx), l.session.Bus(), l.Screen, false, l.subagentCall)
	leave := l.Terminal.Attach(ctx, l.session.Bus())
	return func() {
		leave()
		stop()
	}
}

// lead processes one input after another.
func (l *lines) lead(ctx context.Context, first string) {
	if l.work(ctx, func(ctx context.Context) bool { return l.show(l.session.Start(ctx)) }) {
		return
	}
	l.greet()
	for input, more := first, true; more && ctx.Err() == nil; {
		if strings.TrimSpace(input) != "" {
			l.typed = input
			if l.work(ctx, func(ctx context.Context) bool { return l.show(l.session.Submit(ctx, input)) }) {
				return
			}
		}
		input, more = l.input(ctx)
	}
}

// greet prints the model, mode and directory.
func (l *lines) greet() {
	s := l.session.Status()
	place := s.Dir
	if s.Branch != "" {
		place += " (" + s.Branch + ")"
	}
	l.Screen.Printf("%s\n", display.Line(strings.TrimSpace(s.Product+" "+s.Version)+", "+s.Model+", mode "+s.Mode+", in "+place))
	l.Screen.Printf("/help lists the commands; Ctrl-D ends the session.\n")
}

// work runs do, which Ctrl-C cancels, and returns its result.
func (l *lines) work(ctx context.Context, do func(context.Context) bool) bool {
	ctx, stop := l.interruptible(ctx)
	defer stop()
	return do(ctx)
}

// interruptible returns a context that Ctrl-C ends. stop ends the watch and reports
// whether Ctrl-C was pressed.
func (l *lines) interruptible(ctx context.Context) (work context.Context, stop func() (interrupted bool)) {
	ctx, cancel := context.WithCancel(ctx)
	watched := make(chan bool)
	go func() {
		pressed := false
		select {
		case <-l.interrupt:
			pressed = true
			cancel()
		case <-ctx.Done():
		}
		watched <- pressed
	}()
	return ctx, func() bool {
		cancel()
		return <-watched
	}
}

// Input prompts.
const (
	linePrompt = "> "
	lineGoesOn = "... "
)

// input reads the next input; more is false once the user leaves.
func (l *lines) input(ctx context.Context) (text string, more bool) {
	select {
	case l.Asking <- struct{}{}: // a request that arrives now waits for the input
		defer func() { <-l.Asking }()
	case <-ctx.Done():
		return "", false
	}
	var parts []string
	prompt, warned := linePrompt, false
	for {
		line, ended, interrupted := l.line(ctx, prompt)
		switch {
		case interrupted && warned:
			return "", false
		case interrupted:
			l.Screen.Printf("Press Ctrl-C again, or Ctrl-D, to leave.\n")
			parts, prompt, warned = nil, linePrompt, true
			continue
		case ended && line == "" && len(parts) == 0, ctx.Err() != nil:
			return "", false
		}
		warned = false
		head, goesOn := strings.CutSuffix(line, `\`)
		parts = append(parts, head)
		if !goesOn || ended {
			return strings.Join(parts, "\n"), true
		}
		prompt = lineGoesOn
	}
}

// line reads one line.
func (l *lines) line(ctx context.Context, prompt string) (line string, ended, interrupted bool) {
	reading, stop := l.interruptible(ctx)
	l.Screen.Prompt(reading, prompt)
	line, err := l.Lines.Read(reading)
	l.Screen.Answered()
	interrupted = stop() && err != nil
	line = strings.TrimRight(line, "\r\n")
	switch {
	case l.Tty == nil && !interrupted: // the input was not echoed
		l.Screen.Live(display.Printable(line)+"\n", false)
	case err == nil:
		l.Screen.Live("", false) // Enter has ended the line
	default:
		l.Screen.Live("\n", false)
	}
	return line, err != nil, interrupted
}
