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

// runLines has a person lead a session line by line: for terminals that show lines
// and nothing else, and for people to whom a screen is read. Nothing of
// what it prints is an escape sequence. first is submitted at once, unless it is "".
//
// A line that ends with a backslash goes on with the next one. Ctrl-C calls off
// what is worked on, and leaves the session where it is pressed twice at the
// prompt; Ctrl-D leaves it, and so does the end of ctx, which Ctrl-C must not bring
// about; see [untilHungUp].
func runLines(ctx context.Context, p *program.Program, s interactive.Session, first string) error {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	l := newLines(p, s, interrupts)
	defer l.attach(ctx)()
	l.lead(ctx, first)
	return nil
}

// untilHungUp returns a context that ends when the terminal goes or the program is
// told to end, and not by Ctrl-C, which in a session is a key like others.
func untilHungUp(ctx context.Context) (context.Context, context.CancelFunc) {
	pressed := make(chan os.Signal, 1)
	signal.Notify(pressed, os.Interrupt) // else a second one would end the process
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGHUP)
	return ctx, func() {
		stop()
		signal.Stop(pressed)
	}
}

// showsLinesOnly reports whether the terminal of a name, as in TERM, cannot move
// its cursor. That of Windows needs no name.
func showsLinesOnly(term string) bool {
	return term == "dumb" || term == "unknown" || term == "" && runtime.GOOS != "windows"
}

// lines leads a session line by line.
type lines struct {
	*approval.Terminal // where is asked, and where lines come from
	session            interactive.Session
	interrupt          <-chan os.Signal
	live               *display.Live

	typed   string            // what was submitted last
	awaited map[string]func() // by the id of a call that runs: waits for what it prints
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

// attach shows what calls print, and has the person asked, until detach is called.
func (l *lines) attach(ctx context.Context) (detach func()) {
	var stop func()
	l.live, stop = display.AttachLive(context.WithoutCancel(ctx), l.session.Bus(), l.Screen, false, l.subagentCall)
	leave := l.Terminal.Attach(ctx, l.session.Bus())
	return func() {
		leave()
		stop()
	}
}

// lead takes one input after the other.
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

// greet says where the person is.
func (l *lines) greet() {
	s := l.session.Status()
	place := s.Folder
	if s.Branch != "" {
		place += " (" + s.Branch + ")"
	}
	l.Screen.Say("%s\n", display.Line(strings.TrimSpace(s.Product+" "+s.Version)+", "+s.Model+", mode "+s.Mode+", in "+place))
	l.Screen.Say("/help lists the commands; Ctrl-D leaves.\n")
}

// work does something that Ctrl-C calls off. It reports what do does.
func (l *lines) work(ctx context.Context, do func(context.Context) bool) bool {
	ctx, stop := l.interruptible(ctx)
	defer stop()
	return do(ctx)
}

// interruptible returns a context that Ctrl-C ends. What ends the watch reports
// whether that has happened.
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

// Before what is typed.
const (
	linePrompt = "> "
	lineGoesOn = "... "
)

// input reads what the person types next; more is false once the person leaves.
func (l *lines) input(ctx context.Context) (text string, more bool) {
	select {
	case l.Asking <- struct{}{}: // a question that comes now waits for the input
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
			l.Screen.Say("Press Ctrl-C once more, or Ctrl-D, to leave.\n")
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
	l.Screen.Live(prompt, true)
	reading, stop := l.interruptible(ctx)
	line, err := l.Lines.Read(reading)
	interrupted = stop() && err != nil
	line = strings.TrimRight(line, "\r\n")
	switch {
	case l.Tty == nil && !interrupted: // nothing has shown what was read
		l.Screen.Live(display.Printable(line)+"\n", false)
	case err == nil:
		l.Screen.Live("", false) // Enter has ended the line
	default:
		l.Screen.Live("\n", false)
	}
	return line, err != nil, interrupted
}
