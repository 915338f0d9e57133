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
	"github.com/fettle-dev/fettle/core/scheduler"
)

// attachUser shows the live output of the session's calls to the user at the
// terminal and lets the user answer approval requests. It returns the attached
// session and a function that detaches it. Everything is shown on stderr; if stderr
// is not a terminal, nothing is shown, and calls that need approval are denied.
func attachUser(ctx context.Context, p *program.Program, s program.Session, stdinUsed bool) (attached program.Session, detach func()) {
	if !display.IsTerminal(p.Err) {
		return s, func() {}
	}
	on := display.NewScreen(p.Err)
	l, stop := display.AttachLive(context.WithoutCancel(ctx), s.MessageBus(), on, display.WantsColour(p.Err), nil) // output after the end of ctx is still shown
	leave := attachTerminal(ctx, p, s, on, stdinUsed)
	return watched{s, l}, func() {
		leave()
		stop()
	}
}

// attachTerminal lets the user at the terminal answer the approval requests of a session,
// and returns a function that detaches it. Answers are read from the controlling
// terminal, not from stdin, which may contain arguments (stdinUsed); if neither can
// be read, no approver is attached.
func attachTerminal(ctx context.Context, p *program.Program, s program.Session, on *display.Screen, stdinUsed bool) (detach func()) {
	in, err := os.Open(approval.TerminalName())
	closeIn := func() { _ = in.Close() }
	if err != nil {
		if stdinUsed || !display.IsTerminal(p.In) {
			return func() {}
		}
		in, _ = p.In.(*os.File)
		closeIn = func() {}
	}
	t := approval.NewTerminal(in, on, display.WantsColour(p.Err))
	t.Tty = in
	t.Columns = func() int { return display.ProseColumns(p.Err, display.UsualColumns) }
	t.Room = func() int { return display.ProseColumns(p.Err, math.MaxInt) }
	t.SavedIn = program.ApprovalsFile(s.Config())
	leave := t.Attach(ctx, s.MessageBus())
	return func() {
		leave()
		closeIn()
	}
}

// watched is a session whose calls the user watches.
type watched struct {
	program.Session
	live *display.Live
}

// Run returns once all output of the call was shown.
func (w watched) Run(ctx context.Context, r scheduler.Request) scheduler.Response {
	shown := w.live.Expect(r.CallID)
	resp := w.Session.Run(ctx, r)
	shown()
	return resp
}

// withCalls is [program.Program.WithSession] for commands that may change the user's
// files; the user watches them and is asked at the terminal. stdinUsed means that
// stdin contains no answers.
func withCalls(ctx context.Context, p *program.Program, o program.SessionOptions, stdinUsed bool, use func(program.Session) error) error {
	return p.WithSession(ctx, o, func(s program.Session) error {
		s, detach := attachUser(ctx, p, s, stdinUsed)
		defer detach()
		p.ReportProblems(s)
		p.ReportHookProblems(s)
		for _, notice := range s.Recover(ctx) {
			p.PrintError(errors.New(notice))
		}
		if ctx.Err() != nil {
			return program.Interrupted()
		}
		return use(s)
	})
}

// showPreview shows the preview of a plan mode call to the user at the terminal.
// stdout is not affected.
func showPreview(p *program.Program, r scheduler.Response) {
	if display.IsTerminal(p.Err) && r.Preview {
		_, _ = io.WriteString(p.Err, display.RenderPreview(r.Tool, r.Result.ReturnDisplay, display.WantsColour(p.Err)))
	}
}
