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

// TerminalsExist reports whether this system supports Command.PTY.
const TerminalsExist = true

// terminal is the pseudo-terminal of a child, seen from the user's side.
type terminal struct {
	master *os.File // reads return output, writes type input
	tty    *os.File // the child's side, until the child has it
	name   string   // of tty

	keys    int // how often the end of input may still be typed for a program that reads keys
	feeding sync.WaitGroup
	end     chan struct{} // closed to stop typing the end of input
	mu      sync.Mutex
	ended   bool // end is closed
}

// openTerminal opens a terminal of the given size.
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

// withDeadlines returns a copy of a file that supports deadlines, unlike the file that pty opens.
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

// endOfInput is the character for the end of input: ^D.
const endOfInput = "\x04"

// endInput makes a program that waits for a line find the end of its input, until stopFeeding is
// called. It offers the character whenever nothing has been printed for a moment, because then a
// process may be waiting. It removes the character if no process read it; a program that reads keys
// would read it as a key. Each offer in vain delays the next one.
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

// closeInput is endInput after an explicit request to close the input. A program that reads keys
// then receives the character too, because programs that edit lines themselves end on it. It is
// typed only a few times: each one may end one of several nested programs, and to other programs it
// is an ordinary key. It is called once, instead of endInput.
func (t *terminal) closeInput(silent func() time.Duration) {
	t.keys = 3
	t.endInput(silent)
}

// typeEnd types the end of input, if the terminal accepts it soon. After a partial line the
// character ends that line.
func (t *terminal) typeEnd() {
	const soon = 20 * time.Millisecond
	_ = t.master.SetWriteDeadline(time.Now().Add(soon))
	_, _ = t.master.WriteString(endOfInput)
}

// stopFeeding stops typing the end of input and waits for that, because the terminal's name may be
// reused afterwards.
func (t *terminal) stopFeeding() {
	t.mu.Lock()
	if !t.ended {
		t.ended = true
		close(t.end)
	}
	t.mu.Unlock()
	t.feeding.Wait()
}
