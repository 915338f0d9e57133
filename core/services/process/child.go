package process

import (
	"cmp"
	"context"
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

// child is a started process with its output. One goroutine reads each of its outputs, and one
// waits for its end. The code that started it calls [child.finish], which waits for all of them.
type child struct {
	platform
	starter
	cmd      *exec.Cmd
	cookie   string     // in the environment of every process that it starts
	terminal *terminal  // nil: none
	outs     []*os.File // the read ends of its outputs
	quiet    time.Duration

	exited  chan struct{} // closed when the process has ended
	drained chan struct{} // closed when reading has stopped
	heard   atomic.Int64  // time of the latest output, in nanoseconds since began
	began   time.Time

	moved     []string // protected paths that it created; known once it has finished
	moveError error

	unrecorded error // why its changes in overlays were not recorded

	leaving atomic.Pointer[time.Time] // once set, reading stops after a quiet period, or at this time
}

// starter starts a child's process, confined or not, and is notified of its end.
type starter interface {
	begin(cmd *exec.Cmd) error
	halt()                  // ends the parts of it that are not its own processes, such as a container
	ended(e Exit)           // reports how the started process ended
	failure(r Result) error // why the started command did not run after all; nil if it ran
	// removed returns the protected paths that the command created and that were moved away; it is
	// called once, when the started process has ended. The error is the reason why one was not.
	removed() ([]string, error)
	// visible returns the IDs by which the Service's commands of this kind know processes.
	visible(pids []int) []int
}

// unconfined starts a process without confinement.
type unconfined struct{}

func (unconfined) begin(cmd *exec.Cmd) error  { return cmd.Start() }
func (unconfined) halt()                      {}
func (unconfined) ended(Exit)                 {}
func (unconfined) failure(Result) error       { return nil }
func (unconfined) removed() ([]string, error) { return nil, nil }
func (unconfined) visible(pids []int) []int   { return pids }

// newChild returns a child that is not started yet. The environment of cmd must contain the cookie.
func (s *Service) newChild(cmd *exec.Cmd, cookie string, by starter) *child {
	return &child{
		cmd: cmd, starter: by, cookie: cookie, quiet: s.o.Quiet,
		exited: make(chan struct{}), drained: make(chan struct{}),
	}
}

// newCookie returns a mark that is unique among the children of this process.
func (s *Service) newCookie() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	return s.token + "-" + strconv.Itoa(s.lastID)
}

// startShell runs a command line. stdin may be nil, which means empty input; a terminal replaces
// it. All output goes to sink, from one goroutine.
func (s *Service) startShell(ctx context.Context, c Command, stdin *os.File, sink func([]byte)) (*child, error) {
	shell, err := s.shell()
	if err != nil {
		return nil, err
	}
	line := c.Line
	if strings.HasPrefix(line, "-") || strings.HasPrefix(line, "+") {
		line = " " + line // otherwise the shell would parse it as options
	}
	cookie := s.newCookie()
	cmd := exec.Command(shell, "-c", line) //nolint:gosec,noctx // that is what it is for; ended as a group
	cmd.Dir, cmd.Env = c.Dir, withoutKeys(s.environment(c.Dir, cookie), s.o.IsKey)
	cmd.Env = append(cmd.Env, neutral(cmd.Env, c.Dir)...)
	if c.Confine == ConfineRead {
		cmd.Env = append(cmd.Env, readOnly...)
	}
	by := s.starter(ctx, c.Confine)
	if c.background {
		by = lasting(by)
	}
	child := s.newChild(cmd, cookie, by)
	if c.PTY {
		return child, startError(child.startAtTerminal(c, sink))
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, startError(err)
	}
	defer w.Close() //nolint:errcheck // nothing was written here
	cmd.Stdout, cmd.Stderr = w, w
	if stdin != nil {
		cmd.Stdin = stdin
	}
	return child, startError(child.start(stream{r, sink}))
}

// startAtTerminal starts the child on a terminal of its own.
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

// stream is an output: the file to read from, and the function that receives the data.
type stream struct {
	from *os.File
	sink func([]byte)
}

// start starts the child and the reading of its outputs. It closes the outputs at the end, or when
// starting fails.
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

// startError returns the reason why a command did not start; nil if it started.
func startError(err error) error {
	if err == nil || fault.As(err) != nil {
		return err
	}
	return fault.Wrap(fault.ShellExecuteError, "process.start", fmt.Sprintf("The command could not be started: %v.", err),
		"Check the working directory; put a very long command into a script.", err)
}

// read reads an output to its end. At the end a terminal returns an error instead of EOF.
func (c *child) read(o stream) {
	buf := make([]byte, 64<<10)
	for {
		if end := c.leaving.Load(); end != nil {
			c.readUntil(o.from, *end)
		}
		n, err := o.from.Read(buf)
		c.deliver(o, buf[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.readBuffered(o, buf)
		}
		if err != nil {
			return
		}
	}
}

// deliver passes data that was read to the stream's sink.
func (c *child) deliver(o stream, data []byte) {
	if len(data) == 0 {
		return
	}
	c.heard.Store(int64(time.Since(c.began)))
	o.sink(data)
	c.heard.Store(int64(time.Since(c.began)))
}

// maxBuffered is the capacity of a pipe.
const maxBuffered = 1 << 20

// readBuffered reads the output that is still in the pipe when the reading deadline has passed. On
// a busy machine the reading goroutine may not have run before.
func (c *child) readBuffered(o stream, buf []byte) {
	for total := 0; total < maxBuffered; {
		n := buffered(o.from, buf)
		if n == 0 {
			return
		}
		total += n
		c.deliver(o, buf[:n])
	}
}

// readUntil bounds one read by the quiet period, and by end.
func (c *child) readUntil(out *os.File, end time.Time) {
	limit := time.Now().Add(c.quiet)
	if limit.After(end) {
		limit = end
	}
	_ = out.SetReadDeadline(limit) // pipes without deadlines: there the group has been ended
}

// silent returns the time since the latest output.
func (c *child) silent() time.Duration {
	return time.Since(c.began) - time.Duration(c.heard.Load())
}

// stopReading makes the readers stop once the outputs are quiet, and waits for them.
func (c *child) stopReading() {
	end := time.Now().Add(10 * c.quiet)
	c.leaving.Store(&end)
	for _, out := range c.outs {
		c.readUntil(out, end)
	}
	<-c.drained
}
