package chat

import (
	"context"
	"math"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/internal/program"
)

// lineOptions configure [runLines].
type lineOptions struct {
	first   string // submitted at the start; "": nothing
	savedIn string // the file of saved approvals, as displayed
	bell    bool   // rings when a question waits
}

// runLines runs an interactive session line by line, for terminals without cursor
// movement and for screen readers. It prints no escape sequences.
//
// A line that ends with a backslash continues on the next line. Ctrl-C cancels the
// running turn; at the prompt, pressing it twice leaves the session. Ctrl-D leaves
// the session, and so does the end of ctx. Ctrl-C must not end ctx; see
// [untilHungUp].
func runLines(ctx context.Context, p *program.Program, s interactive.Session, o lineOptions) error {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	l := newLines(p, s, interrupts)
	l.Bell, l.SavedIn = o.bell, o.savedIn
	defer l.attach(ctx)()
	l.lead(ctx, o.first)
	return nil
}

// untilHungUp returns a context that ends when the terminal closes or the program is
// terminated, but not with Ctrl-C, which is an ordinary key in a session.
func untilHungUp(ctx context.Context) (context.Context, context.CancelFunc) {
	pressed := make(chan os.Signal, 1)
	signal.Notify(pressed, os.Interrupt) // otherwise a second one would end the process
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGHUP)
	return ctx, func() {
		stop()
		signal.Stop(pressed)
	}
}

// showsLinesOnly reports whether a terminal type, as in TERM, cannot move its cursor.
// The Windows terminal needs no name.
func showsLinesOnly(term string) bool {
	return term == "dumb" || term == "unknown" || term == "" && runtime.GOOS != "windows"
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

func newLines(p *program.Program, s interactive.Session, interrupt <-chan os.Signal) *lines {
	l := &lines{Terminal: approval.NewTerminal(p.In, display.NewScreen(p.Out), false), session: s, interrupt: interrupt, awaited: map[string]func(){}}
	if display.IsTerminal(p.In) {
		l.Tty, _ = p.In.(*os.File)
	}
	l.Columns = func() int { return display.ProseColumns(p.Out, display.UsualColumns) }
	l.Room = func() int { return display.ProseColumns(p.Out, math.MaxInt) }
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
