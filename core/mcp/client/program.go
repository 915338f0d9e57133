package client

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os/exec"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/child"
)

// program is a server that runs as a child process and is used over its stdin and
// stdout.
type program struct {
	mask    *mcp.Mask
	process *child.Process
	conn    *lineConn
	watched chan struct{} // closed when watch has returned
}

// startProgram starts a server's process. The caller must call end.
func (d *Dialer) startProgram(ctx context.Context, spec mcp.ServerSpec, t *tap, v *mcp.Mask) (*program, error) {
	o := child.Options{
		Server: spec.Name, Command: spec.Command, Args: spec.Args, Dir: cmp.Or(spec.Dir, d.o.Dir),
		Environ: d.o.Environ(), Env: spec.Env, Grace: d.o.Grace, Hide: v.Hide,
	}
	if spec.Sandbox {
		o.Start = d.startConfined
	}
	process, err := child.Start(ctx, o)
	switch f := fault.As(err); {
	case err == nil:
	case fault.CodeOf(err) == fault.InvalidConfig:
		return nil, fault.Wrap(f.Code, "mcp.connect", v.Hide("The MCP server "+quoted(spec.Name)+" is not available. "+f.Message), f.Remedy, quiet(err, v))
	case fault.CodeOf(err) == fault.MCPServerUnavailable:
		return nil, unavailable(spec.Name, v, f.Message, f.Remedy, nil, err)
	default:
		return nil, unavailable(spec.Name, v, "Its program "+spec.Command+" cannot be started.", "Check that the program is complete and built for this machine.", nil, err)
	}
	p := &program{mask: v, process: process, watched: make(chan struct{})}
	p.conn = newLineConn(t, process.Stdout, process.Stdin, d.o.MaxMessage, d.probe)
	go p.watch(d.o.Grace)
	return p, nil
}

// startConfined starts the process of a server with Sandbox.
func (d *Dialer) startConfined(ctx context.Context, cmd *exec.Cmd) (ended func(), err error) {
	if d.o.StartConfined == nil {
		return nil, fault.New(fault.InvalidConfig, "mcp.dial", "Its program is not started, because this program cannot confine it.", "Remove sandbox from its settings to run it unconfined.")
	}
	return d.o.StartConfined(ctx, cmd)
}

// watch ends the conversation once the process has exited, even if a descendant
// keeps its output open. Output written before is read.
func (p *program) watch(grace time.Duration) {
	defer close(p.watched)
	<-p.process.Exited()
	select {
	case <-p.conn.atEnd:
	case <-time.After(grace):
		_ = p.process.Stdout.Close()
	}
}

// Connect implements the SDK's transport.
func (p *program) Connect(context.Context) (sdk.Connection, error) { return p.conn, nil }

func (p *program) transport() (sdk.Transport, mcp.Transport) { return p, mcp.TransportStdio }

// gone returns a channel that is closed when the process has exited.
func (p *program) gone() <-chan struct{} { return p.process.Exited() }

// cut ends the conversation.
func (p *program) cut() { _ = p.conn.Close() }

// end terminates the process and its whole group. It returns when nothing is left
// that can be terminated.
func (p *program) end() {
	p.cut()
	p.process.End()
	p.conn.finish()
	<-p.watched
}

func (p *program) lastLines() []string { return p.process.Stderr() }

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
	case errors.Is(err, errNotRead):
		return "It does not read the answers to its requests.", "Check its own log."
	case err != nil || p.hasExited():
		ending := p.process.Ending()
		if ending == "" {
			return "It closed its stdout.", "Check its own log."
		}
		return "Its program " + ending + ".", "Check its output on stderr, its command, arguments and env."
	}
	return "", ""
}

func (p *program) hasExited() bool {
	select {
	case <-p.process.Exited():
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
	case errors.Is(err, errNotRead):
		return "It does not read the answers to its requests.", "Check its own log."
	case err != nil:
		return "It closed the connection.", ""
	}
	return "", ""
}
