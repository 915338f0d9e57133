//go:build unix

package process

import (
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// TerminalsExist reports whether Command.PTY can be had on this system.
const TerminalsExist = true

// terminal is the terminal of a child, seen from the side of the person.
type terminal struct {
	master *os.File // what is read is output, what is written is typed
	tty    *os.File // the child's side, until the child has it
	name   string   // of tty

	keys    int // how often the end of input may yet be typed for a program that reads keys
	feeding sync.WaitGroup
	end     chan struct{} // closed to end the feeding
	mu      sync.Mutex
	ended   bool // end is closed
}

// openTerminal opens a terminal of that size.
func openTerminal(cols, rows int) (*terminal, error) {
	opened, tty, err := pty.Open()
	if err != nil {
		return nil, err
	}
	defer opened.Close() //nolint:errcheck // its copy is what is used
	t := &terminal{tty: tty, name: tty.Name(), end: make(chan struct{})}
	err = pty.Setsize(opened, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}) //nolint:gosec // a size in characters
	if err == nil {
		t.master, err = withDeadlines(opened)
	}
	if err != nil {
		_ = tty.Close()
		return nil, err
	}
	return t, nil
}

// withDeadlines returns a copy of a file that can be read and written with
// deadlines, which the one that pty opens cannot.
func withDeadlines(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = syscall.SetNonblock(fd, true)
	}
	if err != nil {
		return nil, os.NewSyscallError("open terminal", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil //nolint:gosec // a descriptor
}

// endOfInput is what a person types for the end of input: ^D.
const endOfInput = "\x04"

// endInput sees to it, until stopFeeding, that a program which waits for a line
// finds the end of its input. It is offered whenever nothing has been printed for
// a moment, as then somebody may wait, and taken back where nobody took it: a
// program that reads keys would find a key. After each offer in vain the next
// one comes later.
func (t *terminal) endInput(silent func() time.Duration) {
	const moment, longest = 100 * time.Millisecond, 2 * time.Second
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	t.feeding.Go(func() {
		again := time.NewTicker(moment / 5)
		defer again.Stop()
		wait := moment
		for offered := 0; ; {
			if quiet := silent(); quiet < moment {
				wait = moment
			} else if quiet >= wait {
				if offered++; t.offerEnd(offered == 1) {
					wait = quiet + moment
				} else {
					wait = quiet + min(max(quiet, moment), longest)
				}
			}
			select {
			case <-again.C:
			case <-t.end:
				return
			}
		}
	})
}

// closeInput is endInput for whoever has asked for the end: then a program that
// reads keys finds one too, as those that edit lines themselves end for it. That
// is typed a few times only, as each may end one of several that are nested, and
// is any key to others. It is called once, in the place of endInput.
func (t *terminal) closeInput(silent func() time.Duration) {
	t.keys = 3
	t.endInput(silent)
}

// typeEnd types the end of input, if the terminal takes it soon. After a part of
// a line it is the end of that.
func (t *terminal) typeEnd() {
	const soon = 20 * time.Millisecond
	_ = t.master.SetWriteDeadline(time.Now().Add(soon))
	_, _ = t.master.WriteString(endOfInput)
}

// stopFeeding returns when the end of input is offered no more, and never will
// be: the name may then become that of another terminal.
func (t *terminal) stopFeeding() {
	t.mu.Lock()
	if !t.ended {
		t.ended = true
		close(t.end)
	}
	t.mu.Unlock()
	t.feeding.Wait()
}
