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

	feeding sync.WaitGroup
	once    sync.Once
	end     chan struct{} // closed to end the feeding
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

// endInput sees to it, until stopFeeding, that a program which reads lines
// finds the end of its input: a terminal tells that once, to whoever reads first.
// A program that reads keys finds nothing.
func (t *terminal) endInput() {
	const step = 50 * time.Millisecond
	t.feeding.Go(func() {
		again := time.NewTicker(step)
		defer again.Stop()
		for first := true; ; first = false {
			if t.wantsEnd(first) {
				_ = t.master.SetWriteDeadline(time.Now().Add(step))
				_, _ = t.master.WriteString(endOfInput) // next time, if not now
			}
			select {
			case <-again.C:
			case <-t.end:
				return
			}
		}
	})
}

// stopFeeding waits until nothing is typed any more.
func (t *terminal) stopFeeding() {
	t.once.Do(func() { close(t.end) })
	t.feeding.Wait()
}
