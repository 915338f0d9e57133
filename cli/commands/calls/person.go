package calls

import (
	"context"
	"errors"
	"io"
	"math"
	"os"

	"github.com/fettle-dev/fettle/cli/approval"
	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// attachPerson lets the person at the terminal see what the calls of a session
// print and answer what they ask, and returns that session and what ends this.
// All of it is shown on stderr; where that is no terminal nothing is shown, and
// an ask is a refusal.
func attachPerson(ctx context.Context, p *program.Program, s program.Session, stdinTaken bool) (attached program.Session, detach func()) {
	if !display.IsTerminal(p.Err) {
		return s, func() {}
	}
	on := display.NewScreen(p.Err)
	l, stop := display.AttachLive(context.WithoutCancel(ctx), s.MessageBus(), on, display.WantsColour(p.Err), nil) // what ends with ctx still prints
	leave := attachTerminal(ctx, p, s.MessageBus(), on, stdinTaken)
	return watched{s, l}, func() {
		leave()
		stop()
	}
}

// attachTerminal lets the person at the terminal that is shown answer what is
// asked on a bus, and returns what ends that. The answer is read from the
// terminal itself, not from stdin, which may hold arguments (stdinTaken); where
// neither can be read nobody is asked.
func attachTerminal(ctx context.Context, p *program.Program, b *bus.MessageBus, on *display.Screen, stdinTaken bool) (detach func()) {
	in, err := os.Open(approval.TerminalName())
	closeIn := func() { _ = in.Close() }
	if err != nil {
		if stdinTaken || !display.IsTerminal(p.In) {
			return func() {}
		}
		in, _ = p.In.(*os.File)
		closeIn = func() {}
	}
	t := approval.NewTerminal(in, on, display.WantsColour(p.Err))
	t.Tty = in
	t.Columns = func() int { return display.ProseColumns(p.Err, display.UsualColumns) }
	t.Room = func() int { return display.ProseColumns(p.Err, math.MaxInt) }
	leave := t.Attach(ctx, b)
	return func() {
		leave()
		closeIn()
	}
}

// watched is a session whose calls are watched by a person.
type watched struct {
	program.Session
	live *display.Live
}

// Run returns once all that the call printed was shown.
func (w watched) Run(ctx context.Context, r scheduler.Request) scheduler.Response {
	shown := w.live.Expect(r.CallID)
	resp := w.Session.Run(ctx, r)
	shown()
	return resp
}

// withCalls is [program.Program.WithSession] for commands that may change files of the person's,
// who watches them and is asked at the terminal; stdinTaken says that stdin holds no answers.
func withCalls(ctx context.Context, p *program.Program, o program.SessionOptions, stdinTaken bool, use func(program.Session) error) error {
	return p.WithSession(ctx, o, func(s program.Session) error {
		s, detach := attachPerson(ctx, p, s, stdinTaken)
		defer detach()
		p.TellProblems(s)
		p.TellHookProblems(s)
		for _, notice := range s.Recover(ctx) {
			p.Complain(errors.New(notice))
		}
		if ctx.Err() != nil {
			return program.Interrupted()
		}
		return use(s)
	})
}

// showPreview shows the person at the terminal what a call of plan mode would
// have done. The answer on stdout is not touched.
func showPreview(p *program.Program, r scheduler.Response) {
	if display.IsTerminal(p.Err) && r.Preview {
		_, _ = io.WriteString(p.Err, display.RenderPreview(r.Tool, r.Result.ReturnDisplay, display.WantsColour(p.Err)))
	}
}
