package process

import (
	"context"
	"time"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/fault"
)

// Command is a command line to run.
type Command struct {
	Line string // for bash; required
	Dir  string // absolute directory to run in; required

	// PTY gives the command a terminal of its own as its stdin, stdout, stderr and /dev/tty. On
	// systems without terminals, see [TerminalsExist], the command is refused. No user types at it:
	// a program that reads lines finds the end of its input; one that reads single keys waits until
	// a limit ends it. When the shell ends, the terminal hangs up, and only background processes
	// that ignore the hangup continue.
	PTY bool
	// Cols and Rows are the size of the terminal in characters, at most 65,535.
	// Zero: 120 and 40.
	Cols, Rows int

	// Confine is the confinement of this command. The zero value follows Options.Confinement.
	Confine Confine

	// Output receives the output of the command, stdout and stderr combined, with escape sequences.
	// It is called from one goroutine, and not after Run has returned. A chunk never ends inside a
	// character. The command blocks while Output runs, so it must return soon. nil: the output is
	// not streamed.
	Output func(chunk string)
	// KeepBytes is the number of bytes kept of a long output, a fifth of them from the beginning.
	// 0, or more than Options.HeadBytes and TailBytes together: those limits apply.
	KeepBytes int

	background bool // it is a background process
}

// Ending is the cause that ended a command; "" means that it ended by itself.
type Ending string

// The causes that end a command.
const (
	Cancelled  Ending = "cancelled" // its context ended
	Closed     Ending = "closed"    // the session was closed
	TotalLimit Ending = "total"     // Options.Total
	IdleLimit  Ending = "idle"      // Options.Idle

	OutputLimit Ending = "output" // Program.MaxBytes; programs alone
)

// Exit is the exit status of a process.
type Exit struct {
	Code   int    // -1 if a signal ended it
	Signal string // such as SIGKILL; "" for none
}

// Result is the result of a command that was started.
type Result struct {
	Exit
	Ending   Ending
	Duration time.Duration

	// Text is the output for a model, see [Plain]; ANSI is the output as printed. Of a long output
	// both have the head, a line with the number of omitted bytes, and the tail.
	Text, ANSI string
	Bytes      int64 // length of the whole output
	Omitted    int64 // bytes that are neither in the head nor in the tail
	SavedPath  string
	SavedBytes int64 // length of the file at SavedPath: the whole output, or Options.SaveBytes if that is less
	SaveError  error // why a cut output was not saved; also nil if there is no directory for it

	// Removed contains the absolute protected paths that the command created and that were moved
	// away afterwards, sorted; see Confinement.IsProtected.
	Removed []string
	// RemoveError is the reason why a path of Removed was not moved away, and still exists.
	RemoveError error

	// Unrecorded is the error of ended of [Confinement].Overlays: the changes of the command exist, but a merge
	// reports them as conflicts.
	Unrecorded error

	// Background contains the IDs of the processes that the command left running, in order. They
	// are known only on Linux. Of a command in namespaces they are the IDs there, by which its
	// later commands can signal them.
	Background []int
}

// Run runs a command and returns when its shell has ended. It does not wait for processes that the
// command left running in the background, and stops reading their output. stdin is empty, and
// without c.PTY there is no terminal to prompt on. When ctx ends or a limit is reached, the whole
// process group receives SIGTERM, and SIGKILL after the grace period; Result.Ending reports that,
// and the error is nil.
//
// Errors: shell_execute_error if the command could not be started, cancelled if ctx had ended
// before, not_initialized after Close.
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
	child, err := s.startShell(ctx, c, nil, func(p []byte) {
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
	r.Background = child.visible(left.pids())
	r.Removed, r.RemoveError, r.Unrecorded = child.moved, child.moveError, child.unrecorded
	live.flush()
	kept.finish(&r)
	return r, child.failure(r)
}

// chunks forwards output in whole characters.
type chunks struct {
	send func(string)
	rest []byte // of an incomplete character
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

// flush forwards the remaining bytes, which do not form a character.
func (c *chunks) flush() {
	if len(c.rest) > 0 {
		c.send(string(utf8.RuneError))
	}
}
