package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// answerWithin is the maximum time for a response of the driver before it is killed.
const answerWithin = 15 * time.Minute

// driver is a process that does the work of peers and measures it, with the protocol of
// node/driver.mjs. Concurrent requests wait for each other.
type driver struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *tailBuffer

	mu    sync.Mutex
	ended error // why it does not answer any more
}

// startDriver starts cmd as a driver. The caller closes it.
func startDriver(cmd *exec.Cmd) (*driver, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	d := &driver{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<16), stderr: &tailBuffer{}}
	cmd.Stderr = d.stderr
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return d, nil
}

// ask sends a request and decodes the response. It can be called again after an error response, but
// not after ctx killed the driver or the driver ended.
func (d *driver) ask(ctx context.Context, request map[string]any, answer any) error {
	line, err := json.Marshal(request)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended != nil {
		return d.ended
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, fmt.Errorf("no response to %q within %v", request["op"], answerWithin))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = d.cmd.Process.Kill() }) // it may have ended
	_, err = d.in.Write(append(line, '\n'))
	var text []byte
	if err == nil {
		text, err = d.out.ReadBytes('\n')
	}
	if !stop() {
		err = errors.Join(context.Cause(ctx), err)
	}
	if err != nil {
		_ = d.cmd.Process.Kill() // it may have ended
		_ = d.cmd.Wait()         // for the end of its stderr
		d.ended = fmt.Errorf("the driver of the Node packages ended: %w\n%s", err, d.stderr)
		return d.ended
	}
	var failure struct{ Error *string }
	if err := json.Unmarshal(text, &failure); err != nil {
		return fmt.Errorf("the driver's response to %q is not JSON: %.200q", request["op"], text)
	}
	if failure.Error != nil {
		return fmt.Errorf("%s: %s", request["op"], *failure.Error)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}

// close ends the process by closing its input, or by force, and waits for it.
func (d *driver) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended == nil {
		d.ended = errors.New("the driver of the Node packages is closed")
	}
	_ = d.in.Close() // it may have ended
	kill := time.AfterFunc(10*time.Second, func() { _ = d.cmd.Process.Kill() })
	defer kill.Stop()
	_, _ = io.Copy(io.Discard, d.out)
	_ = d.cmd.Wait() // the exit code does not matter any more, nor a previous wait
	return nil
}

// over reports whether the driver has ended.
func (d *driver) over() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ended != nil
}

// tailBuffer keeps the end of the text written to it.
type tailBuffer struct {
	mu   sync.Mutex
	text []byte
}

func (w *tailBuffer) Write(p []byte) (int, error) {
	const most = 2_000
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, p...)
	w.text = w.text[max(0, len(w.text)-most):]
	return len(p), nil
}

func (w *tailBuffer) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.TrimSpace(string(w.text))
}

// driverTask is a unit of work for a driver.
type driverTask struct {
	Work   string         // key of the driver's works
	Params map[string]any // parameters of the preparation
	// Check examines the output of the first run, and once more that of the last warm-up run. The
	// output of every later run must have the same length. Required if After is nil.
	Check func(shown string) error
	// After examines the effect of every run. done counts the runs.
	After func(done int) error
	// Short work is repeated within a turn. It cannot have After.
	Short bool
}

const (
	warmTime  = time.Second // the compilers of Node's engine need some runs
	warmRuns  = 200
	shortWork = time.Millisecond // for how long short work is repeated in a turn
)

// runReply is the driver's response to "run".
type runReply struct {
	NS     float64 `json:"ns"`
	Shown  string  `json:"shown"`
	Length float64 `json:"length"`
}

// prepare lets the driver prepare a task, checks its result, and warms it up for the time warm.
func (d *driver) prepare(ctx context.Context, e driverTask, warm time.Duration) (_ *Prepared, err error) {
	var made struct {
		Handle int `json:"handle"`
	}
	if err := d.ask(ctx, map[string]any{"op": "prepare", "work": e.Work, "params": e.Params}, &made); err != nil {
		return nil, err
	}
	end := func() error {
		if d.over() {
			return nil
		}
		return d.ask(context.WithoutCancel(ctx), map[string]any{"op": "close", "handle": made.Handle}, nil)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, end())
		}
	}()
	done, repeat, length := 0, 1, -1.0
	run := func(ctx context.Context, show bool) (runReply, error) {
		var r runReply
		if err := d.ask(ctx, map[string]any{"op": "run", "handle": made.Handle, "turn": done, "repeat": repeat, "show": show}, &r); err != nil {
			return r, err
		}
		done += repeat
		switch {
		case r.NS <= 0:
			return r, fmt.Errorf("%s took %v ns", e.Work, r.NS)
		case show && e.Check != nil:
			if err := e.Check(r.Shown); err != nil {
				return r, fmt.Errorf("wrong result: %w", err)
			}
			length = r.Length
		case e.Check != nil && r.Length != length:
			return r, fmt.Errorf("wrong result: length %v instead of %v", r.Length, length)
		}
		if e.After != nil {
			if err := e.After(done); err != nil {
				return r, fmt.Errorf("wrong result: %w", err)
			}
		}
		return r, nil
	}
	r, err := run(ctx, true)
	if err != nil {
		return nil, err
	}
	for began, runs := time.Now(), 0; time.Since(began) < warm && (e.Short || runs < warmRuns); runs++ {
		if e.Short {
			repeat = max(1, min(100_000, int(float64(shortWork)/r.NS)))
		}
		if r, err = run(ctx, false); err != nil {
			return nil, err
		}
	}
	if _, err = run(ctx, true); err != nil {
		return nil, err
	}
	return &Prepared{Close: end, Run: func(ctx context.Context) (Measured, error) {
		r, err := run(ctx, false)
		return Measured{Elapsed: max(1, time.Duration(r.NS))}, err
	}}, nil
}
