// Package server serves clients of the Model Context Protocol on behalf of an
// [mcpservice.Service]: over a program's stdin and stdout, and over streamable HTTP with
// a Service per client. It knows neither configuration nor policy; they belong to
// the caller that opens a Service.
package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Client identifies the client of a [mcpservice.Service].
type Client struct {
	Name, Version string // as reported by the client; may be ""
	// Session is the ID of the client's session. It is "" without a session, as
	// in stateless HTTP: the service then serves one request, and its state is
	// lost.
	Session string
}

// Options configure a [Server]. Name, Version and Open are required.
type Options struct {
	Name, Version string // of the server, as reported to clients

	// Open creates the Service of one client: once per session, when its client
	// has identified itself, or once per request without a session. ctx lives as
	// long as the Service; its Close is called after ctx has ended. A
	// *fault.Error is reported to the client, which may retry; of any other error
	// the client learns only that it occurred.
	Open func(ctx context.Context, c Client) (*mcpservice.Service, error)

	Logger *slog.Logger // for operators; never on stdout; nil: nothing is logged

	// OutputSchemas declares the output schemas of the tools. Models do not need
	// them, and they more than double the size of the declarations. Results contain
	// structured content that fits them in any case.
	OutputSchemas bool

	Calls        int           // concurrent calls of one session, further ones wait; 0: 32
	RequestBytes int           // of one message of a client; 0: 16 MiB
	PageSize     int           // entries of one page of a list; 0: 500
	AnswerTime   time.Duration // how long a call without a request waits for its client's answers; 0: 10 min
	Waiting      int           // maximum number of such waiting calls over all sessions; 0: 1,000
	WaitingEach  int           // of those, the maximum per session or, without one, per token, else per connection; 0: 100
	// Linger is how long running calls may still be answered after the input of
	// [Server.Stdio] has ended, before they are cancelled. 0: 1 s; < 0: they are
	// cancelled at once.
	Linger time.Duration
}

// Server serves MCP clients. It is safe for concurrent use. The caller must call
// Close at the end.
type Server struct {
	o       Options
	log     *slog.Logger
	sdkLog  *slog.Logger // of the SDK, which logs session IDs at lower levels
	states  signer
	waiting waitList // calls that wait for answers

	outputs outputs

	mu       sync.Mutex
	sessions map[*session]struct{}
	closed   bool
}

// New returns a Server. It does not start anything. It panics without
// Options.Open.
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
	s.waiting.init(o.Waiting, o.WaitingEach, o.AnswerTime)
	return s
}

// setDefault replaces a value that is not positive.
func setDefault[T int | time.Duration](v *T, to T) {
	if *v <= 0 {
		*v = to
	}
}

// Close ends all sessions: it cancels running work, waits for it, and closes the
// Services. Further clients are refused. It is idempotent and returns the joined
// errors of the Services.
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

// begin creates a session, or returns nil if the Server is closed. The session
// keeps the values of ctx but not its end.
func (s *Server) begin(ctx context.Context, k kind) *session {
	c := &session{srv: s, kind: k, opening: make(chan struct{}, 1), slots: make(chan struct{}, s.o.Calls), refs: 1}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	c.id = rand.Text()
	c.sdk = sdk.NewServer(&sdk.Implementation{Name: s.o.Name, Version: s.o.Version}, c.options())
	c.sdk.AddReceivingMiddleware(c.receive)
	c.sdk.AddSendingMiddleware(hear)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		c.cancel()
		return nil
	}
	s.sessions[c] = struct{}{}
	return c
}

// forget unregisters a session that has ended.
func (s *Server) forget(c *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, c)
}

// warnings is a handler that drops records below the level of warnings.
type warnings struct{ slog.Handler }

// Enabled reports whether the level is at least that of warnings.
func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}
