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

// List returns the background processes, oldest first: all running ones, and the last 100 that have
// ended.
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

// lookup returns a background process by its handle.
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

// ReadOptions configure [Service.Read]. The zero value does not wait.
type ReadOptions struct {
	Wait    time.Duration // longest time to wait until there is output or the process has ended
	ForEnd  bool          // wait until the process has ended, not only for output
	MaxRead int           // bytes returned at once; zero: 32,000
}

// Unread is the unread output of a background process.
type Unread struct {
	Info              // the state after this read; Unread counts the remaining bytes
	Text, ANSI string // as in [Result]
	Dropped    int64  // bytes before Text that were discarded unread
}

// Read returns the output since the last Read, oldest first. The remaining output of an ended
// process can still be read. When ctx ends, Read stops waiting and returns code cancelled; no
// output is consumed.
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
	return b.next(cmp.Or(o.MaxRead, 32_000)), nil
}

// next removes at most limit bytes from unread. It returns whole lines if more output remains, and
// whole characters if more may follow.
func (b *background) next(limit int) Unread {
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

// writeWait is the time that a write waits for a process that does not read.
const writeWait = 10 * time.Second

// Write writes data to the stdin of a background process, and then closes it if end is set. It
// waits until the process, or a pipe of a few pages, has accepted all of it, for at most 10
// seconds. Before that it waits as long for a concurrent write. On Windows a pipe has no such
// limit. The rest is dropped, and the error reports how much was written.
//
// A terminal is closed by typing the end-of-input character whenever the process seems to wait for
// a line. If the process reads keys, for which the character may have any meaning, it is typed at
// most three times. Write waits up to a second for the process to end.
//
// Errors: execution_failed for an unknown id, if the process has ended or has closed its stdin, and
// if it does not accept the data in time; cancelled.
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
		return noInput(id, "it has not yet read the input of another call", nil)
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
		return b.notWritten(taken, len(data), end)
	default:
		return noInput(id, "it no longer reads its input", err)
	}
	if end {
		_ = b.closeStdin() // the data was written already
		if b.command.PTY {
			b.awaitEnd(ctx)
		}
	}
	return nil
}

// write writes to stdin until the patience, ctx or the process ends, and returns the number of
// bytes written. The caller holds the token.
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

// awaitEnd waits briefly for the end of a process whose terminal was closed.
func (b *background) awaitEnd(ctx context.Context) {
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

// notWritten returns the error for input that a process read only in part.
func (b *background) notWritten(taken, all int, end bool) error {
	message := fmt.Sprintf("%s took %d of %d bytes within %v: it does not read its input, or reads slowly. The rest was dropped, so it will not get it later.",
		b.id, taken, all, b.patience)
	if end {
		message += " Its input was not closed."
	}
	return fault.New(fault.ExecutionFailed, "process.write", message,
		"Read its output to see its state; then write the rest once it reads, or stop it.")
}

func noInput(id, why string, cause error) error {
	return fault.Wrap(fault.ExecutionFailed, "process.write", fmt.Sprintf("Nothing can be written to %s: %s.", id, why),
		"Read its output to see its result.", cause)
}

// Kill ends a background process and every process that belongs to it, with SIGTERM and then
// SIGKILL, and returns its final state. A process that has already ended is not an error. When ctx
// ends, Kill stops waiting, but the process is still ended.
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
