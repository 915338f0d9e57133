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

// maxEnded is the number of ended background processes that the Service keeps.
const maxEnded = 100

// Info describes a background process.
type Info struct {
	ID      string // handle, such as p1; unique in the Service
	PID     int    // as in Result.Background
	Command string
	Dir     string
	// Confined is the confinement of the process: Namespaces, Landlock or Container;
	// Unconfined for any other.
	Confined ConfinementKind
	Running  bool // the shell is running, or a process that it started still holds the output
	Exit          // of the shell; valid once Running is false
	Unread   int  // output bytes that [Service.Read] has not returned yet

	Removed     []string // as in [Result]; valid once Running is false
	RemoveError error    // as in [Result]; valid once Running is false
}

// background is a background process. One goroutine of the Service supervises it until it ends.
type background struct {
	id      string
	command Command
	child   *child
	pid     int // as commands of its kind see it

	stop     chan struct{} // closed to stop the process
	stopOnce sync.Once
	ended    chan struct{} // closed when the process has ended and all its output is in unread

	writing  chan struct{} // holds a token during a write to stdin
	stdin    input         // nil once closed; guarded by the token
	patience time.Duration // limit for one write

	mu      sync.Mutex
	unread  []byte
	dropped int64
	news    chan struct{} // closed and replaced when output arrives
	done    bool
	exit    Exit
}

// Start starts a command in the background and returns its handle. The process runs until it ends,
// or until [Service.Kill] or Close ends it; ctx bounds only the start. Its stdin stays open for
// [Service.Write]. c.Output is ignored. With c.PTY, Write sends keystrokes: \x03 interrupts, input
// is echoed in the output, and a line longer than 4,095 bytes is truncated.
//
// Errors: those of Run; execution_failed if Options.MaxBackground processes are running already,
// or, with reason no_session, if Options.NoBackground is set.
func (s *Service) Start(ctx context.Context, c Command) (Info, error) {
	const op = "process.start"
	if err := ctx.Err(); err != nil {
		return Info{}, fault.Wrap(fault.Cancelled, op, "The command was cancelled before it began.", "", err)
	}
	done, err := s.enter(op)
	if err != nil {
		return Info{}, err
	}
	b, err := s.launch(ctx, c)
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

// launch starts the process and adds it to the list.
func (s *Service) launch(ctx context.Context, c Command) (*background, error) {
	if err := s.admit(); err != nil {
		return nil, err
	}
	c.background = true
	b := &background{
		command: c, stop: make(chan struct{}), ended: make(chan struct{}),
		writing: make(chan struct{}, 1), patience: writeWait, news: make(chan struct{}),
	}
	err := b.start(ctx, s)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.running--
		return nil, err
	}
	b.pid = b.child.visible([]int{b.child.cmd.Process.Pid})[0]
	s.lastHandle++
	b.id = fmt.Sprintf("p%d", s.lastHandle)
	s.background = append(s.background, b)
	s.forget()
	return b, nil
}

// admit reserves a slot among the running processes.
func (s *Service) admit() error {
	if s.o.NoBackground {
		return fault.New(fault.ExecutionFailed, "process.start",
			"Background processes need a session, and there is none here; nothing was started.",
			"Run the command in the foreground, and let it end by itself.").Because(fault.NoSession)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running >= s.o.MaxBackground {
		return fault.New(fault.ExecutionFailed, "process.start",
			fmt.Sprintf("%d background processes are running already, which is the limit.", s.running),
			"List them, and stop one that is no longer needed.")
	}
	s.running++
	return nil
}

// forget drops the oldest ended processes. The caller holds s.mu.
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

// input is the write end of a process's stdin.
type input interface {
	io.WriteCloser
	SetWriteDeadline(t time.Time) error
}

func (b *background) start(ctx context.Context, s *Service) error {
	sink := func(p []byte) { b.appendOutput(p, s.o.UnreadBytes) }
	if b.command.PTY {
		var err error
		if b.child, err = s.startShell(ctx, b.command, nil, sink); err != nil {
			return err
		}
		b.stdin = &typing{child: b.child}
		return nil
	}
	in, stdin, err := os.Pipe()
	if err != nil {
		return startError(err)
	}
	defer in.Close() //nolint:errcheck // nothing was written here
	if b.child, err = s.startShell(ctx, b.command, in, sink); err != nil {
		_ = stdin.Close()
		return err
	}
	b.stdin = stdin
	return nil
}

// run waits until the process ends, ends it when requested, and returns the processes left behind.
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

// await returns when the shell has ended and no process holds its output, or when all of them have
// been ended.
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

// appendOutput keeps output until it is read.
func (b *background) appendOutput(p []byte, limit int) {
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
	i := Info{ID: b.id, PID: b.pid, Command: b.command.Line, Dir: b.command.Dir, Running: !b.done, Unread: len(b.unread), Confined: confinementOf(b.child.starter)}
	if b.done {
		i.Exit, i.Removed, i.RemoveError = b.exit, b.child.moved, b.child.moveError
	}
	return i
}

// closeStdin closes stdin. The caller holds the token of b.writing.
func (b *background) closeStdin() error {
	if b.stdin == nil {
		return nil
	}
	err := b.stdin.Close()
	b.stdin = nil
	return err
}
