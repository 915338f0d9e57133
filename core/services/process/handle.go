package process

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
)

// List describes the background processes, oldest first: all that run, and the
// last 100 of those that have ended.
func (s *Service) List() []Info {
	s.mu.Lock()
	all := s.background[:len(s.background):len(s.background)]
	list := make([]Info, len(all))
	for i, b := range all {
		list[i] = b.info()
	}
	s.mu.Unlock()
	return list
}

// lookup finds a background process by its handle.
func (s *Service) lookup(op, id string) (*background, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, b := range s.background {
		if b.id == id {
			return b, nil
		}
		ids = append(ids, b.id)
	}
	remedy := "Start one with run_shell_command and is_background."
	if len(ids) > 0 {
		remedy = "Those of this session are: " + strings.Join(ids, ", ") + "."
	}
	return nil, fault.New(fault.ExecutionFailed, op, fmt.Sprintf("There is no background process %.40q in this session.", id), remedy)
}

// ReadOptions say what [Service.Read] waits for. The zero value waits for
// nothing.
type ReadOptions struct {
	Wait    time.Duration // at most so long, until there is output or the process has ended
	ForEnd  bool          // wait until it has ended; output alone does not do
	MaxRead int           // bytes given out at once; zero: 32,000
}

// Unread is output of a background process.
type Unread struct {
	Info              // as it is after this reading; Unread counts what is left
	Text, ANSI string // as in [Result]
	Dropped    int64  // bytes before it that nobody has read and that are gone
}

// Read gives out the output that has come since the last Read, the oldest
// first. Of a process that has ended the rest can still be read. When ctx ends
// it stops waiting, with code cancelled, and nothing is taken.
//
// Errors: execution_failed for an unknown id, cancelled.
func (s *Service) Read(ctx context.Context, id string, o ReadOptions) (Unread, error) {
	const op = "process.read"
	b, err := s.lookup(op, id)
	if err != nil {
		return Unread{}, err
	}
	limit := time.NewTimer(o.Wait)
	defer limit.Stop()
	for waiting := o.Wait > 0; waiting; {
		b.mu.Lock()
		news, there := b.news, len(b.unread) > unfinished(b.unread) && !o.ForEnd
		b.mu.Unlock()
		if there {
			break
		}
		select {
		case <-news:
		case <-b.ended:
			waiting = false
		case <-limit.C:
			waiting = false
		case <-ctx.Done():
			waiting = false
		}
	}
	if err := ctx.Err(); err != nil {
		return Unread{}, fault.Wrap(fault.Cancelled, op, "Reading the output of "+id+" was cancelled.", "", err)
	}
	return b.give(cmp.Or(o.MaxRead, 32_000)), nil
}

// give takes at most limit bytes out of unread, whole lines where there is
// more, and whole characters where more may come.
func (b *background) give(limit int) Unread {
	b.mu.Lock()
	p := b.unread
	switch {
	case len(p) > limit:
		p = p[:limit]
		if i := bytes.LastIndexByte(p, '\n'); i >= 0 {
			p = p[:i+1]
		} else if whole := limit - unfinished(p); whole > 0 {
			p = p[:whole]
		}
	case !b.done:
		p = p[:len(p)-unfinished(p)]
	}
	u := Unread{Text: text(p, int64(len(p))), ANSI: string(p), Dropped: b.dropped}
	b.dropped = 0
	b.unread = b.unread[:copy(b.unread, b.unread[len(p):])]
	b.mu.Unlock()
	u.Info = b.info()
	return u
}

// writeWait is how long a write waits for a process that does not read.
const writeWait = 10 * time.Second

// Write writes data to the stdin of a background process, and closes it after
// that if end. It waits until the process, or a pipe of a few pages, has taken
// all of it, for 10 seconds at most, and before that as long for a write of
// others; Windows has no such limit for a pipe. What was not taken then is
// dropped, and the error tells how much was.
//
// A terminal is closed by typing the end of input whenever the process seems to
// wait for a line, and up to three times if it reads keys, to which that may
// mean anything. Write waits for up to a second to see whether it ends of that.
//
// Errors: execution_failed for an unknown id, where the process has ended or has
// closed its stdin, and where it does not take the data in time; cancelled.
func (s *Service) Write(ctx context.Context, id, data string, end bool) error {
	const op = "process.write"
	b, err := s.lookup(op, id)
	if err != nil {
		return err
	}
	cancelled := func() error {
		return fault.Wrap(fault.Cancelled, op, "Writing to "+id+" was cancelled, perhaps after a part.", "", ctx.Err())
	}
	turn := time.NewTimer(b.patience)
	defer turn.Stop()
	select {
	case b.writing <- struct{}{}:
		defer func() { <-b.writing }()
	case <-b.ended:
		return noInput(id, "it has ended", nil)
	case <-turn.C:
		return noInput(id, "it has not yet taken what another call writes", nil)
	case <-ctx.Done():
		return cancelled()
	}
	if ctx.Err() != nil {
		return cancelled()
	}
	if b.stdin == nil {
		return noInput(id, "its input is closed", nil)
	}
	switch taken, err := b.write(ctx, data); {
	case err == nil:
	case ctx.Err() != nil:
		return cancelled()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return b.notTaken(taken, len(data), end)
	default:
		return noInput(id, "it no longer reads its input", err)
	}
	if end {
		_ = b.closeStdin() // what was written is with the process
		if b.command.PTY {
			b.seeEnd(ctx)
		}
	}
	return nil
}

// write writes to stdin, for as long as there is patience, until ctx or the
// process ends, and returns how many bytes were taken. It expects the token.
func (b *background) write(ctx context.Context, data string) (int, error) {
	stdin := b.stdin
	_ = stdin.SetWriteDeadline(time.Now().Add(b.patience))
	give := make(chan struct{})
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		select {
		case <-ctx.Done():
		case <-b.ended:
		case <-give:
			return
		}
		_ = stdin.SetWriteDeadline(time.Unix(1, 0))
	}()
	taken, err := io.WriteString(stdin, data)
	close(give)
	<-watching
	if errors.Is(err, os.ErrDeadlineExceeded) && b.hasEnded() {
		err = os.ErrClosed
	}
	return taken, err
}

// seeEnd waits a moment for the end of a process whose terminal was closed.
func (b *background) seeEnd(ctx context.Context) {
	const moment = time.Second
	limit := time.NewTimer(moment)
	defer limit.Stop()
	select {
	case <-b.ended:
	case <-limit.C:
	case <-ctx.Done():
	}
}

func (b *background) hasEnded() bool {
	select {
	case <-b.ended:
		return true
	default:
		return false
	}
}

// notTaken says that a process has taken a part of what was written.
func (b *background) notTaken(taken, all int, end bool) error {
	message := fmt.Sprintf("%s took %d of %d bytes within %v: it does not read its input, or reads slowly. The rest was dropped, so it will not get it later.",
		b.id, taken, all, b.patience)
	if end {
		message += " Its input was not closed."
	}
	return fault.New(fault.ExecutionFailed, "process.write", message,
		"Read its output to see what it does; then write the rest once it reads, or stop it.")
}

func noInput(id, why string, cause error) error {
	return fault.Wrap(fault.ExecutionFailed, "process.write", fmt.Sprintf("Nothing can be written to %s: %s.", id, why),
		"Read its output to see what it did.", cause)
}

// Kill ends a background process and all that belongs to it, with SIGTERM and
// then SIGKILL, and returns how it ended. One that has ended already is no
// error. When ctx ends it stops waiting; the process is ended all the same.
//
// Errors: execution_failed for an unknown id, cancelled.
func (s *Service) Kill(ctx context.Context, id string) (Info, error) {
	const op = "process.kill"
	b, err := s.lookup(op, id)
	if err != nil {
		return Info{}, err
	}
	b.stopOnce.Do(func() { close(b.stop) })
	select {
	case <-b.ended:
		return b.info(), nil
	case <-ctx.Done():
		return Info{}, fault.Wrap(fault.Cancelled, op, "Waiting for the end of "+id+" was cancelled; it is being ended.", "", ctx.Err())
	}
}
