// Package server speaks the Model Context Protocol for an [mcp.Service]: over a
// program's stdin and stdout, and over streamable HTTP with a Service for each
// client. It knows neither Config nor policy; whoever opens a Service does.
package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/mcp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the parts of a [Server]. Name, Version and Open are required.
type Options struct {
	Name, Version string // of the server, as clients are told

	// Open makes the Service of one client: once a session, when its client has
	// said who it is, or once a request where there is no session. ctx lives as long
	// as the Service; its Close is called after ctx has ended. A failure is told to
	// the client, which may try again; of an error that is no *fault.Error it is
	// told nothing more than that.
	Open func(ctx context.Context, c mcp.Client) (*mcp.Service, error)

	Logger *slog.Logger // what happens, for operators; never on stdout; nil: nothing is logged

	Calls        int           // calls of one session that run at once, the others wait; 0: 32
	RequestBytes int           // of one message of a client; 0: 16 MiB
	PageSize     int           // entries of one page of a list; 0: 500
	AnswerTime   time.Duration // how long a call waits, without a request, for its client's answers; 0: 10 min
	Waiting      int           // calls that wait so at once, over all sessions; 0: 1,000
	WaitingEach  int           // of those, how many of one session, or without one of one token, else connection; 0: 100
	// Linger is how long calls that run when the input of [Server.Stdio] ends may
	// still be answered before they are cancelled. 0: 1 s; < 0: not at all.
	Linger time.Duration
}

// Server serves MCP clients (EX-20). It is safe for concurrent use; Close it at
// the end.
type Server struct {
	o      Options
	log    *slog.Logger
	sdkLog *slog.Logger // of the SDK, which at lower levels tells the ids of sessions
	states signer
	lot    lot // where calls wait for answers

	outputs outputs

	mu       sync.Mutex
	sessions map[*session]struct{}
	closed   bool
}

// New returns a Server. It starts nothing. It panics without Options.Open.
func New(o Options) *Server {
	if o.Open == nil {
		panic("server: Options.Open is required")
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	setDefault(&o.Calls, 32)
	setDefault(&o.RequestBytes, 16<<20)
	setDefault(&o.PageSize, 500)
	setDefault(&o.AnswerTime, 10*time.Minute)
	setDefault(&o.Waiting, 1000)
	setDefault(&o.WaitingEach, 100)
	o.Linger = cmp.Or(o.Linger, time.Second)
	s := &Server{o: o, log: o.Logger, sdkLog: slog.New(warnings{o.Logger.Handler()}), sessions: map[*session]struct{}{}}
	_, _ = rand.Read(s.states.key[:]) // it never fails
	s.lot.init(o.Waiting, o.WaitingEach, o.AnswerTime)
	return s
}

// setDefault sets what is not positive.
func setDefault[T int | time.Duration](v *T, to T) {
	if *v <= 0 {
		*v = to
	}
}

// Close ends all sessions: what runs is cancelled and waited for, and the
// Services are closed. Clients are refused from now on. It is idempotent and
// returns the joined errors of the Services.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	open := make([]*session, 0, len(s.sessions))
	for c := range s.sessions {
		open = append(open, c)
	}
	s.mu.Unlock()
	var wg sync.WaitGroup
	failures := make([]error, len(open))
	for i, c := range open {
		wg.Go(func() { failures[i] = c.end() })
	}
	wg.Wait()
	return errors.Join(failures...)
}

// begin makes a session; nil where the Server is closed. The values of ctx are
// the session's, its end is not.
func (s *Server) begin(ctx context.Context, k kind) *session {
	c := &session{srv: s, kind: k, opening: make(chan struct{}, 1), slots: make(chan struct{}, s.o.Calls), refs: 1}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	c.id = rand.Text()
	c.sdk = sdk.NewServer(&sdk.Implementation{Name: s.o.Name, Version: s.o.Version}, c.options())
	c.sdk.AddReceivingMiddleware(c.receive)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		c.cancel()
		return nil
	}
	s.sessions[c] = struct{}{}
	return c
}

// forget takes a session that has ended out.
func (s *Server) forget(c *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, c)
}

// warnings is a handler of what is a warning at least.
type warnings struct{ slog.Handler }

// Enabled leaves out what is less.
func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}
