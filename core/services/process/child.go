package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
)

// child is a started shell with its output. One goroutine reads, one waits for
// the shell; whoever started it calls [child.finish] and so waits for both.
type child struct {
	platform
	cmd    *exec.Cmd
	begin  func(*exec.Cmd) error // starts cmd, confined where that is asked for
	cookie string                // in the environment of all that it starts
	out    *os.File
	quiet  time.Duration

	exited  chan struct{} // closed when the shell has ended
	drained chan struct{} // closed when no more is read
	heard   atomic.Int64  // when output last came, in nanoseconds since began
	began   time.Time
	leaving atomic.Pointer[time.Time] // once set, reading ends with the quiet, or then
}

// start runs a command line in dir. stdin may be nil: nothing. All output goes
// to sink, from one goroutine.
func (s *Service) start(line, dir string, stdin *os.File, sink func([]byte)) (*child, error) {
	shell, err := s.shell()
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, cannotStart(err)
	}
	defer w.Close() //nolint:errcheck // nothing was written here
	s.mu.Lock()
	s.lastID++
	cookie := s.token + "-" + strconv.Itoa(s.lastID)
	s.mu.Unlock()
	if strings.HasPrefix(line, "-") || strings.HasPrefix(line, "+") {
		line = " " + line // which the shell would take for its options
	}
	c := &child{
		cmd:   exec.Command(shell, "-c", line), //nolint:gosec,noctx // that is what it is for; ended as a group
		begin: s.begin, cookie: cookie, out: r, quiet: s.o.Quiet,
		exited: make(chan struct{}), drained: make(chan struct{}), began: time.Now(),
	}
	c.cmd.Dir, c.cmd.Env = dir, s.environment(dir, c.cookie)
	c.cmd.Stdout, c.cmd.Stderr = w, w
	if stdin != nil {
		c.cmd.Stdin = stdin
	}
	if err := c.launch(c.cmd); err != nil {
		_ = r.Close()
		return nil, cannotStart(err)
	}
	go func() {
		defer close(c.exited)
		c.awaitExit(c.cmd)
	}()
	go func() {
		defer close(c.drained)
		c.read(sink)
	}()
	return c, nil
}

func cannotStart(err error) error {
	return fault.Wrap(fault.ShellExecuteError, "process.start", fmt.Sprintf("The command could not be started: %v.", err),
		"Check the folder that it is to run in; put a very long command into a script.", err)
}

func (c *child) read(sink func([]byte)) {
	buf := make([]byte, 64<<10)
	for {
		if end := c.leaving.Load(); end != nil {
			c.readUntil(*end)
		}
		n, err := c.out.Read(buf)
		if n > 0 {
			c.heard.Store(int64(time.Since(c.began)))
			sink(buf[:n])
			c.heard.Store(int64(time.Since(c.began)))
		}
		if err != nil {
			return
		}
	}
}

// readUntil lets one read take as long as the quiet, but not beyond end.
func (c *child) readUntil(end time.Time) {
	limit := time.Now().Add(c.quiet)
	if limit.After(end) {
		limit = end
	}
	_ = c.out.SetReadDeadline(limit) // where a pipe has none, the group has been ended
}

// silent returns for how long nothing has come.
func (c *child) silent() time.Duration {
	return time.Since(c.began) - time.Duration(c.heard.Load())
}

// stopReading ends the reading once the pipe is quiet; it waits for that.
func (c *child) stopReading() {
	end := time.Now().Add(10 * c.quiet)
	c.leaving.Store(&end)
	c.readUntil(end)
	<-c.drained
}

// supervise waits until the command has ended, and ends it where ctx or
// closing or a limit does.
func (c *child) supervise(ctx context.Context, o *Options, closing <-chan struct{}) Ending {
	total, idle := after(o.Total), after(o.Idle)
	defer total.Stop()
	defer idle.Stop()
	var why Ending
	for why == "" {
		select {
		case <-c.exited:
			return ""
		case <-ctx.Done():
			why = Cancelled
		case <-closing:
			why = Closed
		case <-total.C:
			why = TotalLimit
		case <-idle.C:
			if rest := o.Idle - c.silent(); rest > 0 {
				idle.Reset(rest)
				continue
			}
			why = IdleLimit
		}
	}
	select {
	case <-c.exited: // at the same moment
		return ""
	default:
	}
	c.end(o.Grace)
	return why
}

// after returns a timer of limit, one that never fires where that is negative.
func after(limit time.Duration) *time.Timer {
	if limit < 0 {
		t := time.NewTimer(time.Hour)
		t.Stop()
		return t
	}
	return time.NewTimer(limit)
}

// end ends all that belongs to the command, and waits for it.
func (c *child) end(grace time.Duration) {
	if grace >= 0 {
		c.terminate()
		c.gone(grace)
	}
	const killing = 5 * time.Second // what is still there then is stuck in the kernel
	for end := time.Now().Add(killing); ; {
		c.kill() // also where all seem gone: what cannot be seen may be left
		if c.gone(20*time.Millisecond) || time.Now().After(end) {
			break
		}
	}
	<-c.exited
}

// gone reports whether the shell and all that belongs to it ended within limit.
func (c *child) gone(limit time.Duration) bool {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	select {
	case <-c.exited:
	case <-timeout.C:
		return false
	}
	const step = 5 * time.Millisecond
	again := time.NewTicker(step)
	defer again.Stop()
	for c.lives() {
		select {
		case <-again.C:
		case <-timeout.C:
			return false
		}
	}
	return true
}

// finish ends the reading, and releases what the ended shell holds. It returns
// how the shell ended, and what it left running.
func (c *child) finish() (Exit, group) {
	<-c.exited
	c.beforeFinish()
	select {
	case <-c.drained:
	default:
		c.stopReading()
	}
	_ = c.out.Close()
	left := c.leftBehind(time.Since(c.began))
	return c.reap(c.cmd), left
}
