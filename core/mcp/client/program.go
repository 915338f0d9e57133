package client

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
)

// program is a server that runs as a child process and is used over its stdin and
// stdout.
type program struct {
	name   string
	grace  time.Duration
	mask   *mcp.Mask
	cmd    *exec.Cmd
	group  group
	conn   *lineConn
	errors *tail
	ended  func() // called once it has ended; nil: nobody

	stdout, stderr *os.File
	exited         chan struct{} // closed when the process has been waited for
	watched        chan struct{} // closed when watch has returned
	drained        chan struct{} // closed when stderr has been read to its end
}

// startProgram starts a server's process. The caller must call end.
func (d *Dialer) startProgram(ctx context.Context, spec mcp.ServerSpec, t *tap, v *mcp.Mask) (*program, error) {
	dir := cmp.Or(spec.Dir, d.o.Dir, ".")
	if !filepath.IsAbs(dir) {
		absolute, err := filepath.Abs(dir)
		if err != nil {
			return nil, unavailable(spec.Name, v, "Its working directory is unknown.", "Set an absolute cwd in its settings.", nil, err)
		}
		dir = absolute
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, unavailable(spec.Name, v, "Its working directory "+dir+" does not exist.", "Correct cwd in its settings.", nil, err)
	}
	environment := environment(d.o.Environ(), spec.Env, spec.Name)
	path, err := findProgram(spec.Command, dir, environment)
	if err != nil {
		what, remedy := "There is no program "+spec.Command+" on the PATH.", "Install it, or set the absolute path of the program as command in its settings."
		switch {
		case errors.Is(err, fs.ErrPermission):
			what, remedy = "The file "+spec.Command+" cannot be executed.", "Make it executable, or correct command in its settings."
		case strings.ContainsAny(spec.Command, `/\`):
			what = "There is no program " + spec.Command + "."
		}
		return nil, unavailable(spec.Name, v, what, remedy, nil, err)
	}
	p := &program{name: spec.Name, grace: d.o.Grace, mask: v, errors: &tail{mask: v}, exited: make(chan struct{}), watched: make(chan struct{}), drained: make(chan struct{})}
	start := func(cmd *exec.Cmd) error { return cmd.Start() }
	if spec.Sandbox {
		start = func(cmd *exec.Cmd) error { return p.startConfined(ctx, d, cmd) }
	}
	switch err := p.start(d, path, dir, environment, spec.Args, t, start); {
	case fault.CodeOf(err) == fault.InvalidConfig:
		f := fault.As(err)
		return nil, fault.Wrap(f.Code, "mcp.connect", v.Hide("The MCP server "+quoted(spec.Name)+" is not available. "+f.Message), f.Remedy, quiet(err, v))
	case err != nil:
		return nil, unavailable(spec.Name, v, "Its program "+spec.Command+" cannot be started.", "Check that the program is complete and built for this machine.", nil, err)
	}
	return p, nil
}

// startConfined starts the process of a server with Sandbox.
func (p *program) startConfined(ctx context.Context, d *Dialer, cmd *exec.Cmd) (err error) {
	if d.o.StartConfined == nil {
		return fault.New(fault.InvalidConfig, "mcp.dial", "Its program is not started, because this program cannot confine it.", "Remove sandbox from its settings to run it unconfined.")
	}
	p.ended, err = d.o.StartConfined(ctx, cmd)
	return err
}

func (p *program) start(d *Dialer, path, dir string, environment, args []string, t *tap, start func(*exec.Cmd) error) (err error) {
	p.cmd = &exec.Cmd{Path: path, Args: append([]string{path}, args...), Env: environment, Dir: dir}
	var files []*os.File
	pipe := func() (r, w *os.File) {
		if err == nil {
			if r, w, err = os.Pipe(); err == nil {
				files = append(files, r, w)
			}
		}
		return r, w
	}
	childIn, stdin := pipe()
	stdout, childOut := pipe()
	stderr, childErr := pipe()
	if err == nil {
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = childIn, childOut, childErr
		p.group, err = launch(p.cmd, start)
	}
	if err != nil {
		for _, f := range files {
			_ = f.Close()
		}
		return err
	}
	for _, f := range []*os.File{childIn, childOut, childErr} {
		_ = f.Close()
	}
	p.stdout, p.stderr = stdout, stderr
	p.conn = newLineConn(t, stdout, stdin, d.o.MaxMessage, d.probe)
	go func() {
		defer close(p.drained)
		p.errors.drain(stderr)
	}()
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // the state is more specific
	}()
	go p.watch()
	return nil
}

// watch ends the conversation once the process has exited, even if a descendant
// keeps its output open. Output written before is read.
func (p *program) watch() {
	defer close(p.watched)
	<-p.exited
	select {
	case <-p.conn.atEnd:
	case <-time.After(p.grace):
		_ = p.stdout.Close()
	}
}

// Connect implements the SDK's transport.
func (p *program) Connect(context.Context) (sdk.Connection, error) { return p.conn, nil }

func (p *program) transport() (sdk.Transport, mcp.Transport) { return p, mcp.TransportStdio }

// gone returns a channel that is closed when the process has exited.
func (p *program) gone() <-chan struct{} { return p.exited }

// cut ends the conversation.
func (p *program) cut() { _ = p.conn.Close() }

// end terminates the process and its whole group: it closes stdin, then sends
// SIGTERM, then SIGKILL. It returns when nothing is left that can be terminated.
func (p *program) end() {
	p.cut()
	if !p.wait(p.exited) {
		p.group.terminate()
		if !p.wait(p.exited) {
			p.group.kill()
			<-p.exited
		}
	}
	if p.group.lives() { // a descendant is still running
		p.group.terminate()
		step := time.NewTicker(5 * time.Millisecond)
		defer step.Stop()
		for end := time.Now().Add(p.grace); p.group.lives() && time.Now().Before(end); {
			<-step.C
		}
		p.group.kill()
	}
	p.group.release()
	if p.ended != nil {
		p.ended()
	}
	if !p.wait(p.drained) { // by a process that has left the group
		_ = p.stderr.Close()
		<-p.drained
	}
	_ = p.stdout.Close()
	_ = p.stderr.Close()
	p.conn.finish()
	<-p.watched
}

// wait waits for the end of a shutdown step, at most for the grace period.
func (p *program) wait(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-time.After(p.grace):
		return false
	}
}

func (p *program) lastLines() []string { return p.errors.lines() }

// why describes how the conversation ended: a line that is not a message, or the
// exit status of the process, for which it waits briefly.
func (p *program) why(error) (what, remedy string) {
	err := p.conn.failure()
	var odd *errNotJSON
	switch {
	case errors.As(err, &odd):
		return "It wrote to its stdout, but not a message of the protocol: " + words(p.mask, odd.line) + ".",
			"Make it log to stderr, and check its command."
	case errors.Is(err, errTooLarge):
		return "It sent a message that is larger than the limit.", "Request less at once."
	case err != nil || p.hasExited():
		if !p.wait(p.exited) {
			return "It closed its stdout.", "Check its own log."
		}
		p.wait(p.drained)
		return "Its program " + ending(p.cmd.ProcessState) + ".", "Check its output on stderr, its command, arguments and env."
	}
	return "", ""
}

func (p *program) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// local is a server in this process.
type local struct {
	conn    *lineConn
	server  *sdk.ServerSession
	streams []io.Closer
	closed  chan struct{} // closed when the server has ended its session
}

// startLocal connects to a server in this process. The caller must call end.
func (d *Dialer) startLocal(ctx context.Context, spec mcp.ServerSpec, t *tap, v *mcp.Mask) (*local, error) {
	server, ok := spec.InProcess.(InProcess)
	if !ok {
		return nil, fault.New(fault.InvalidConfig, "mcp.dial", "The MCP server "+quoted(spec.Name)+" in this process has an unsupported type.",
			"Pass a *mcp.Server of the official SDK.")
	}
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	l := &local{streams: []io.Closer{fromClient, toServer, fromServer, toClient}, closed: make(chan struct{})}
	var err error
	l.server, err = server.Connect(context.WithoutCancel(ctx), &sdk.IOTransport{Reader: fromClient, Writer: toClient, MaxLineLength: -1}, nil)
	if err != nil {
		return nil, unavailable(spec.Name, v, "It refused the connection.", "", nil, err)
	}
	l.conn = newLineConn(t, fromServer, toServer, d.o.MaxMessage, d.probe)
	go func() {
		defer close(l.closed)
		_ = l.server.Wait()
	}()
	return l, nil
}

// Connect implements the SDK's transport.
func (l *local) Connect(context.Context) (sdk.Connection, error) { return l.conn, nil }

func (l *local) transport() (sdk.Transport, mcp.Transport) { return l, mcp.TransportInProcess }
func (l *local) gone() <-chan struct{}                     { return l.closed }
func (l *local) cut()                                      { _ = l.conn.Close() }
func (l *local) lastLines() []string                       { return nil }

// end closes the streams, which ends the server's session. It does not wait for a
// handler of the server that continues after its ctx has ended.
func (l *local) end() {
	l.cut()
	for _, s := range l.streams {
		_ = s.Close()
	}
	l.conn.finish()
}

func (l *local) why(error) (what, remedy string) {
	switch err := l.conn.failure(); {
	case errors.Is(err, errTooLarge):
		return "It sent a message that is larger than the limit.", "Request less at once."
	case err != nil:
		return "It closed the connection.", ""
	}
	return "", ""
}
