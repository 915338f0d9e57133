package cli

import (
	"context"
	"os"
	"runtime"

	"golang.org/x/term"

	"github.com/fettle-dev/fettle/core/bus"
)

// attachTerminal lets the person at the terminal answer what is asked on a
// bus, and returns what ends that. Without a terminal it does nothing, so that
// an ask is a refusal. A question is shown on stderr, so stderr must be a
// terminal; the answer is read from the terminal itself, not from stdin, which
// may hold arguments (stdinTaken).
func (p *program) attachTerminal(ctx context.Context, b *bus.MessageBus, stdinTaken bool) (detach func()) {
	if !isTerminal(p.err) {
		return func() {}
	}
	in, err := os.Open(terminalName())
	closeIn := func() { _ = in.Close() }
	if err != nil {
		if stdinTaken || !isTerminal(p.in) {
			return func() {}
		}
		in, _ = p.in.(*os.File)
		closeIn = func() {}
	}
	t := newTerminal(in, p.err, wantsColour(p.err))
	t.tty = in
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
