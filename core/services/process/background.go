package process

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
)

// maxEnded is how many background processes that have ended are remembered.
const maxEnded = 100

// Info describes a background process.
type Info struct {
	ID      string // its handle, as p1; unique in the Service
	PID     int
	Command string
	Dir     string
	Running bool // the shell runs, or something that it started still holds the output
	Exit         // of the shell, once it is not Running
	Unread  int  // bytes of output that [Service.Read] has not given out
}

// background is a background process. One goroutine of the Service sees to
// its end.
type background struct {
	id      string
	command Command
	child   *child

	stop     chan struct{} // closed to end it
	stopOnce sync.Once
	ended    chan struct{} // closed when it has ended and all its output is in unread

	writing  chan struct{} // holds a token while stdin is written to
	stdin    input         // nil once closed; held by the token
	patience time.Duration // of a write

	mu      sync.Mutex
	unread  []byte
	dropped int64
	news    chan struct{} // closed when output comes, and replaced
	done    bool
	exit    Exit
}

// Start starts a command in the background and returns its handle. It ends
// with [Service.Kill] or Close at the latest; ctx bounds the start alone. Its
// stdin stays open for [Service.Write]. c.Output is not used. With c.PTY what is
// written is what a person would type: \x03 interrupts, what is typed is shown
// again in the output, and a line of more than 4,095 bytes is cut.
//
// Errors: those of Run, and execution_failed where Options.MaxBackground run
// already, or for the reason no_session with Options.NoBackground.
func (s *Service) Start(ctx context.Context, c Command) (Info, error) {
	const op = "process.start"
	if err := ctx.Err(); err != nil {
		return Info{}, fault.Wrap(fault.Cancelled, op, "The command was cancelled before it began.", "", err)
	}
	done, err := s.enter(op)
	if err != nil {
		return Info{}, err
	}
	b, err := s.launch(c)
	if err != nil {
		done()
		return Info{}, err
	}
	go func() {
		defer done()
		s.leaveBehind(b.run(s))
	}()
	return b.info(), nil
}

// launch starts the process and takes it into the list.
func (s *Service) launch(c Command) (*background, error) {
	if err := s.admit(); err != nil {
		return nil, err
	}
	b := &background{
		command: c, stop: make(chan struct{}), ended: make(chan struct{}),
		writing: make(chan struct{}, 1), patience: writeWait, news: make(chan struct{}),
	}
	err := b.start(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.running--
		return nil, err
	}
	s.lastHandle++
	b.id = fmt.Sprintf("p%d", s.lastHandle)
	s.background = append(s.background, b)
	s.forget()
	return b, nil
}

// admit reserves a place among those that run.
func (s *Service) admit() error {
	if s.o.NoBackground {
		return fault.New(fault.ExecutionFailed, "process.start",
			"There is no session here that a background process could belong to; nothing was started.",
			"Run the command in the foreground, and let it end by itself.").Because(fault.NoSession)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running >= s.o.MaxBackground {
		return fault.New(fault.ExecutionFailed, "process.start",
			fmt.Sprintf("%d background processes run already, which is the most there may be.", s.running),
			"List them, and stop one that is no longer needed.")
	}
	s.running++
	return nil
}

// forget drops the oldest that have ended. It expects s.mu to be held.
func (s *Service) forget() {
	over := len(s.background) - s.running - maxEnded
	s.background = slices.DeleteFunc(s.background, func(b *background) bool {
		if over <= 0 || b.info().Running {
			return false
		}
		over--
		return true
	})
}

// input is where the stdin of a process is written to.
type input interface {
	io.WriteCloser
	SetWriteDeadline(t time.Time) error
}

func (b *background) start(s *Service) error {
	sink := func(p []byte) { b.take(p, s.o.UnreadBytes) }
	if b.command.PTY {
		var err error
		if b.child, err = s.startShell(b.command, nil, sink); err != nil {
			return err
		}
		b.stdin = &typing{child: b.child}
		return nil
	}
	in, stdin, err := os.Pipe()
	if err != nil {
		return cannotStart(err)
	}
	defer in.Close() //nolint:errcheck // nothing was written here
	if b.child, err = s.startShell(b.command, in, sink); err != nil {
		_ = stdin.Close()
		return err
	}
	b.stdin = stdin
	return nil
}

// run waits for the end, ends the process where it is told to, and returns
// what is left.
func (b *background) run(s *Service) group {
	b.await(s.closing, s.o.Grace)
	exit, left := b.child.finish()
	s.mu.Lock()
	s.running--
	s.mu.Unlock()
	b.mu.Lock()
	b.done, b.exit = true, exit
	b.mu.Unlock()
	close(b.ended)
	b.writing <- struct{}{}
	_ = b.closeStdin()
	<-b.writing
	return left
}

// await returns when the shell has ended and nothing holds its output, or when
// all was ended.
func (b *background) await(closing <-chan struct{}, grace time.Duration) {
	for _, event := range []chan struct{}{b.child.exited, b.child.drained} {
		select {
		case <-event:
			continue
		case <-b.stop:
		case <-closing:
		}
		b.child.end(grace)
		return
	}
}

// take keeps output until it is read.
func (b *background) take(p []byte, limit int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unread = append(b.unread, p...)
	if over := len(b.unread) - limit; over > 0 {
		b.dropped += int64(over)
		b.unread = b.unread[:copy(b.unread, b.unread[over:])]
	}
	close(b.news)
	b.news = make(chan struct{})
}

func (b *background) info() Info {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := Info{ID: b.id, PID: b.child.cmd.Process.Pid, Command: b.command.Line, Dir: b.command.Dir, Running: !b.done, Unread: len(b.unread)}
	if b.done {
		i.Exit = b.exit
	}
	return i
}

// closeStdin expects the token of b.writing.
func (b *background) closeStdin() error {
	if b.stdin == nil {
		return nil
	}
	err := b.stdin.Close()
	b.stdin = nil
	return err
}
