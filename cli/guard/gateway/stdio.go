package gateway

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp/child"
	"github.com/fettle-dev/fettle/core/tools"
)

// grace is how long each step of ending a server's process may take.
const grace = time.Second

// Program describes a server that is a child process.
type Program struct {
	Command string
	Args    []string
	Env     map[string]string // in addition to PATH, HOME and similar variables
	Environ []string          // of this process
	Stderr  io.Writer         // receives the server's stderr, escaped
}

// RunProgram serves a client with a server that is a child process. It returns when
// the client has closed in or the server has ended, which is an error, and leaves
// no process behind.
func RunProgram(ctx context.Context, o Options, p Program, in io.Reader, out io.Writer) error {
	o.fill()
	process, err := child.Start(ctx, child.Options{
		Server: o.Server, Command: p.Command, Args: p.Args, Env: p.Env, Environ: p.Environ, Grace: grace, Hide: o.Hide, Stderr: p.Stderr,
	})
	if err != nil {
		f := fault.As(err)
		if f == nil {
			f = fault.Wrap(fault.MCPServerUnavailable, "gateway", "It cannot be started: "+err.Error()+".", "Check its command.", err)
		}
		return unavailable(o.Server, f.Message, f.Remedy, nil)
	}
	return run(ctx, o, &stdio{name: o.Server, max: o.MaxMessage, process: process}, in, out)
}

func unavailable(server, what, remedy string, stderr []string) *fault.Error {
	message := "The MCP server " + tools.Quote(server, maxName) + " is not available. " + what
	if len(stderr) > 0 {
		message += " End of its stderr: " + tools.Quote(stderr[len(stderr)-1], 300) + "."
	}
	return fault.New(fault.MCPServerUnavailable, "gateway", message, remedy)
}

// stdio is the connection with a child process.
type stdio struct {
	name    string
	max     int
	process *child.Process

	writing sync.Mutex
	once    sync.Once
	mu      sync.Mutex
	large   bool // a message was larger than the limit
}

func (s *stdio) send(m *message) {
	s.writing.Lock()
	defer s.writing.Unlock()
	_, _ = s.process.Stdin.Write(append(oneLine(m.raw), '\n')) // the reader reports why
}

func (s *stdio) receive(use func([]byte)) {
	ended := make(chan struct{})
	defer close(ended)
	go func() { // a descendant may keep the output open
		<-s.process.Exited()
		select {
		case <-ended:
		case <-time.After(grace):
			_ = s.process.Stdout.Close()
		}
	}()
	eachLine(s.process.Stdout, s.max, func(line []byte) bool {
		if line == nil {
			s.mu.Lock()
			s.large = true
			s.mu.Unlock()
			return false
		}
		use(line)
		return true
	})
}

func (s *stdio) finish() { s.once.Do(func() { _ = s.process.Stdin.Close() }) }

func (s *stdio) close() {
	s.finish()
	s.process.End()
}

func (s *stdio) why() *fault.Error {
	s.mu.Lock()
	large := s.large
	s.mu.Unlock()
	if large {
		return unavailable(s.name, fmt.Sprintf("It sent a message that is larger than the limit of %d bytes.", s.max), "Request less at once.", nil)
	}
	if ending := s.process.Ending(); ending != "" {
		return unavailable(s.name, "Its program "+ending+".", "Check its output on stderr, its command, arguments and env.", s.process.Stderr())
	}
	return unavailable(s.name, "It closed its stdout.", "Check its own log.", s.process.Stderr())
}
