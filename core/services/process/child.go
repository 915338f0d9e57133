package process

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
)

// child is a started process with its output. One goroutine reads each of its
// outputs, one waits for its end; whoever started it calls [child.finish] and
// so waits for all.
type child struct {
	platform
	starter
	cmd      *exec.Cmd
	cookie   string     // in the environment of all that it starts
	terminal *terminal  // nil: it has none
	outs     []*os.File // what is read
	quiet    time.Duration

	exited  chan struct{} // closed when the process has ended
	drained chan struct{} // closed when no more is read
	heard   atomic.Int64  // when output last came, in nanoseconds since began
	began   time.Time
	leaving atomic.Pointer[time.Time] // once set, reading ends with the quiet, or then
}

// starter starts a child's process, confined or not, and is told of its end.
type starter interface {
	begin(cmd *exec.Cmd) error
	halt()                  // ends what runs of it elsewhere than in its processes
	ended(e Exit)           // tells how the process ended that was begun
	failure(r Result) error // why what was begun did not run after all; nil where it did
}

// unconfined starts a process as it is.
type unconfined struct{}

func (unconfined) begin(cmd *exec.Cmd) error { return cmd.Start() }
func (unconfined) halt()                     {}
func (unconfined) ended(Exit)                {}
func (unconfined) failure(Result) error      { return nil }

// newChild returns a child that is not started. The environment of cmd is to
// hold the cookie.
func (s *Service) newChild(cmd *exec.Cmd, cookie string, by starter) *child {
	return &child{
		cmd: cmd, starter: by, cookie: cookie, quiet: s.o.Quiet,
		exited: make(chan struct{}), drained: make(chan struct{}),
	}
}

// newCookie returns a mark that no other child of the process has.
func (s *Service) newCookie() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	return s.token + "-" + strconv.Itoa(s.lastID)
}

// startShell runs a command line. stdin may be nil: nothing; a terminal takes
// its place. All output goes to sink, from one goroutine.
func (s *Service) startShell(c Command, stdin *os.File, sink func([]byte)) (*child, error) {
	shell, err := s.shell()
	if err != nil {
		return nil, err
	}
	line := c.Line
	if strings.HasPrefix(line, "-") || strings.HasPrefix(line, "+") {
		line = " " + line // which the shell would take for its options
	}
	cookie := s.newCookie()
	cmd := exec.Command(shell, "-c", line) //nolint:gosec,noctx // that is what it is for; ended as a group
	cmd.Dir, cmd.Env = c.Dir, withoutKeys(s.environment(c.Dir, cookie), s.o.IsKey)
	cmd.Env = append(cmd.Env, neutral(cmd.Env, c.Dir)...)
	child := s.newChild(cmd, cookie, s.starter())
	if c.PTY {
		return child, cannotStart(child.startAtTerminal(c, sink))
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, cannotStart(err)
	}
	defer w.Close() //nolint:errcheck // nothing was written here
	cmd.Stdout, cmd.Stderr = w, w
	if stdin != nil {
		cmd.Stdin = stdin
	}
	return child, cannotStart(child.start(stream{r, sink}))
}

// startAtTerminal starts the child at a terminal of its own.
func (c *child) startAtTerminal(command Command, sink func([]byte)) error {
	t, err := openTerminal(cmp.Or(command.Cols, 120), cmp.Or(command.Rows, 40))
	if err != nil {
		return fault.Wrap(fault.ShellExecuteError, "process.start", fmt.Sprintf("The command could not be given a terminal: %v.", err),
			"Tell the user to turn terminals for commands off.", err)
	}
	c.terminal = t
	c.cmd.Env = append(c.cmd.Env, "TERM=xterm-256color")
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = t.tty, t.tty, t.tty
	err = c.start(stream{t.master, sink})
	_ = t.tty.Close() // nothing was written here
	return err
}

// stream is an output: what it is read from, and who gets it.
type stream struct {
	from *os.File
	sink func([]byte)
}

// start starts the child and the reading of its outputs, which it closes at
// the end, or where that fails.
func (c *child) start(outputs ...stream) error {
	for _, o := range outputs {
		c.outs = append(c.outs, o.from)
	}
	c.began = time.Now()
	if err := c.launch(c.cmd); err != nil {
		c.closeOutputs()
		return err
	}
	go func() {
		defer close(c.exited)
		c.awaitExit(c.cmd)
	}()
	go func() {
		defer close(c.drained)
		var reading sync.WaitGroup
		for _, o := range outputs[1:] {
			reading.Go(func() { c.read(o) })
		}
		c.read(outputs[0])
		reading.Wait()
	}()
	return nil
}

func (c *child) closeOutputs() {
	if c.terminal != nil {
		c.terminal.stopFeeding()
	}
	for _, out := range c.outs {
		_ = out.Close()
	}
}

// cannotStart says why a command did not start; nil where it did.
func cannotStart(err error) error {
	if err == nil || fault.As(err) != nil {
		return err
	}
	return fault.Wrap(fault.ShellExecuteError, "process.start", fmt.Sprintf("The command could not be started: %v.", err),
		"Check the directory that it is to run in; put a very long command into a script.", err)
}

// read reads an output to its end: of a terminal that is an error.
func (c *child) read(o stream) {
	buf := make([]byte, 64<<10)
	for {
		if end := c.leaving.Load(); end != nil {
			c.readUntil(o.from, *end)
		}
		n, err := o.from.Read(buf)
		c.hand(o, buf[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.readWaiting(o, buf)
		}
		if err != nil {
			return
		}
	}
}

// hand hands over what was read.
func (c *child) hand(o stream, data []byte) {
	if len(data) == 0 {
		return
	}
	c.heard.Store(int64(time.Since(c.began)))
	o.sink(data)
	c.heard.Store(int64(time.Since(c.began)))
}

// mostWaiting is how much a pipe can hold.
const mostWaiting = 1 << 20

// readWaiting reads what had been printed when the time for it was over: on a busy
// machine nobody may have come to read it.
func (c *child) readWaiting(o stream, buf []byte) {
	for total := 0; total < mostWaiting; {
		n := waiting(o.from, buf)
		if n == 0 {
			return
		}
		total += n
		c.hand(o, buf[:n])
	}
}

// readUntil lets one read take as long as the quiet, but not beyond end.
func (c *child) readUntil(out *os.File, end time.Time) {
	limit := time.Now().Add(c.quiet)
	if limit.After(end) {
		limit = end
	}
	_ = out.SetReadDeadline(limit) // where a pipe has none, the group has been ended
}

// silent returns for how long nothing has come.
func (c *child) silent() time.Duration {
	return time.Since(c.began) - time.Duration(c.heard.Load())
}

// stopReading ends the reading once the outputs are quiet; it waits for that.
func (c *child) stopReading() {
	end := time.Now().Add(10 * c.quiet)
	c.leaving.Store(&end)
	for _, out := range c.outs {
		c.readUntil(out, end)
	}
	<-c.drained
}
