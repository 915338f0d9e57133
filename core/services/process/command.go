package process

import (
	"context"
	"time"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/fault"
)

// Command is what to run.
type Command struct {
	Line string // for bash; required
	Dir  string // absolute directory to run in; required

	// PTY gives the command a terminal of its own, as its stdin, stdout and
	// stderr and the one that it can open as /dev/tty. Where that does not exist,
	// see [TerminalsExist], it is refused. Nobody sits at it: a program that
	// reads lines there finds the end of its input, one that reads single keys
	// waits until a limit ends it. When the shell ends the terminal hangs up, so
	// that of what was left in the background only what ignores that lives on.
	PTY bool
	// Cols and Rows are the size of the terminal in characters, at most 65,535.
	// Zero: 120 and 40.
	Cols, Rows int

	// Output is sent what the command prints, stdout and stderr as one, escape
	// sequences included, from one goroutine and not after Run has returned. A
	// chunk does not end inside a character. It must return soon, as the command
	// waits for it. nil: nobody listens.
	Output func(chunk string)
	// KeepBytes is how much of a long output is kept, a fifth of it from the beginning.
	// 0, or more than Options.HeadBytes and TailBytes together: as these say.
	KeepBytes int
}

// Ending says what ended a command; "" is itself.
type Ending string

// What ends a command that does not end itself.
const (
	Cancelled  Ending = "cancelled" // the context
	Closed     Ending = "closed"    // the session
	TotalLimit Ending = "total"     // Options.Total
	IdleLimit  Ending = "idle"      // Options.Idle

	OutputLimit Ending = "output" // Program.MaxBytes; programs alone
)

// Exit is how a process ended.
type Exit struct {
	Code   int    // -1 where a signal ended it
	Signal string // as SIGKILL; "" for none
}

// Result is what a command that was started gave.
type Result struct {
	Exit
	Ending   Ending
	Duration time.Duration

	// Text is the output for a model, see [Plain]; ANSI is the same as it was
	// printed. Of a long output both have the head, a line that tells how many
	// bytes were left out, and the tail.
	Text, ANSI string
	Bytes      int64 // of the whole output
	Omitted    int64 // bytes that are neither in the head nor in the tail
	SavedPath  string
	SavedBytes int64 // in the file at SavedPath: all of them, or as many as Options.SaveBytes
	SaveError  error // why a cut output was not saved; nil also where there is no directory for it

	// Background are the ids of processes that the command left running, as
	// far as they are known (on Linux alone), in order.
	Background []int
}

// Run runs a command and returns when its shell has ended; what it has left
// running in the background is not waited for, nor listened to any longer.
// stdin is empty, and without c.PTY there is no terminal to ask at. When ctx ends, or a
// limit is reached, the whole group gets SIGTERM, and SIGKILL after the grace;
// that is told by Result.Ending and is no error.
//
// Errors: shell_execute_error where the command could not be started,
// cancelled where ctx had ended before, not_initialized after Close.
func (s *Service) Run(ctx context.Context, c Command) (Result, error) {
	const op = "process.run"
	if err := ctx.Err(); err != nil {
		return Result{}, fault.Wrap(fault.Cancelled, op, "The command was cancelled before it began.", "", err)
	}
	done, err := s.enter(op)
	if err != nil {
		return Result{}, err
	}
	defer done()
	kept := newCapture(&s.o, c.KeepBytes)
	live := &chunks{send: c.Output}
	child, err := s.startShell(c, nil, func(p []byte) {
		kept.write(p)
		live.write(p)
	})
	if err != nil {
		return Result{}, err
	}
	if child.terminal != nil {
		child.terminal.endInput(child.silent)
	}
	var r Result
	r.Ending = child.supervise(ctx, limits{total: s.o.Total, idle: s.o.Idle, grace: s.o.Grace}, s.closing)
	var left group
	r.Exit, left = child.finish()
	r.Duration = time.Since(child.began)
	s.leaveBehind(left)
	r.Background = left.pids()
	live.flush()
	kept.finish(&r)
	return r, child.failure(r)
}

// chunks sends output on in whole characters.
type chunks struct {
	send func(string)
	rest []byte // of a character
}

func (c *chunks) write(p []byte) {
	if c.send == nil {
		return
	}
	if len(c.rest) > 0 {
		p = append(c.rest, p...)
	}
	n := len(p) - unfinished(p)
	if n > 0 {
		c.send(string(p[:n]))
	}
	c.rest = append([]byte(nil), p[n:]...)
}

// flush sends what is left, which is not going to be a character.
func (c *chunks) flush() {
	if len(c.rest) > 0 {
		c.send(string(utf8.RuneError))
	}
}
