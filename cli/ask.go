package cli

import (
	"context"
	"math"
	"os"
	"runtime"

	"golang.org/x/term"

	"github.com/fettle-dev/fettle/core/bus"
)

// attachPerson lets the person at the terminal see what the calls of a session
// print and answer what they ask, and returns that session and what ends this.
// All of it is shown on stderr; where that is no terminal nothing is shown, and
// an ask is a refusal.
func (p *program) attachPerson(ctx context.Context, s session, stdinTaken bool) (attached session, detach func()) {
	if !isTerminal(p.err) {
		return s, func() {}
	}
	on := &screen{w: p.err}
	l, stop := attachLive(context.WithoutCancel(ctx), s.MessageBus(), on, wantsColour(p.err), nil) // what ends with ctx still prints
	leave := p.attachTerminal(ctx, s.MessageBus(), on, stdinTaken)
	return watched{s, l}, func() {
		leave()
		stop()
	}
}

// attachTerminal lets the person at the terminal that is shown answer what is
// asked on a bus, and returns what ends that. The answer is read from the
// terminal itself, not from stdin, which may hold arguments (stdinTaken); where
// neither can be read nobody is asked.
func (p *program) attachTerminal(ctx context.Context, b *bus.MessageBus, on *screen, stdinTaken bool) (detach func()) {
	in, err := os.Open(terminalName())
	closeIn := func() { _ = in.Close() }
	if err != nil {
		if stdinTaken || !isTerminal(p.in) {
			return func() {}
		}
		in, _ = p.in.(*os.File)
		closeIn = func() {}
	}
	t := newTerminal(in, on, wantsColour(p.err))
	t.tty = in
	t.columns = func() int { return proseColumns(p.err, usualColumns) }
	t.room = func() int { return proseColumns(p.err, math.MaxInt) }
	leave := t.attach(ctx, b)
	return func() {
		leave()
		closeIn()
	}
}

func terminalName() string {
	if runtime.GOOS == "windows" {
		return "CONIN$"
	}
	return "/dev/tty"
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// wantsColour reports whether to colour what goes to a stream: it is a
// terminal, and NO_COLOR and TERM do not object.
func wantsColour(stream any) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(stream)
}
