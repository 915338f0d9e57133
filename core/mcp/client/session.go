package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// Methods of the protocol that sessions use.
const (
	methodCall      = "tools/call"
	methodTools     = "tools/list"
	methodResources = "resources/list"
	methodTemplates = "resources/templates/list"
	methodRead      = "resources/read"
	methodPrompts   = "prompts/list"
	methodPrompt    = "prompts/get"
)

// newProtocol is the first revision without sessions, pings and changing roots.
const newProtocol = "2026-07-28"

// peer is the transport-specific side of a session.
type peer interface {
	transport() (sdk.Transport, mcp.Transport)
	gone() <-chan struct{} // closed when the server has ended; nil: unknown
	cut()                  // makes everything that waits for the server fail at once; idempotent
	end()                  // shuts down everything that was started, and waits for it
	lastLines() []string   // of stderr
	// why describes the cause of an error in a sentence, with a remedy. It
	// returns "" if the error is as specific.
	why(err error) (what, remedy string)
}

// session implements [mcp.Session].
type session struct {
	d    *Dialer
	name string
	spec mcp.ServerSpec
	h    mcp.Handlers
	mask *mcp.Mask
	tap  *tap
	peer peer

	client *sdk.Client
	sdk    *sdk.ClientSession
	info   mcp.Info
	logs   bool // the server sends its log

	ctx    context.Context // of all requests of the session; ends with errClosed at Close
	stop   context.CancelCauseFunc
	tokens atomic.Int64

	roots    sync.Mutex // held while the roots are passed to the SDK
	rootURIs []string

	running    sync.WaitGroup // goroutines that use the SDK
	mu         sync.Mutex
	ending     bool // no goroutine is added to running any more
	closed     bool // by Close
	unanswered int  // requests, at Close
	err        error
	done       chan struct{}
}

var _ mcp.Session = (*session)(nil)

// run runs f, which uses the SDK, and returns when f has returned or ctx has
// ended. ctx also ends with the session and, if limit is not 0, after limit. A
// panic becomes an error.
func (s *session) run(ctx context.Context, limit time.Duration, what string, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(errClosed) })()
	if limit > 0 {
		timer := time.AfterFunc(limit, func() { cancel(errSlow) })
		defer timer.Stop()
	}
	s.mu.Lock()
	if s.ending {
		err := s.err
		s.mu.Unlock()
		if err != nil {
			return err
		}
		return s.explain(ctx, what, errClosed)
	}
	s.running.Add(1)
	s.mu.Unlock()
	result := make(chan error, 1)
	go func() {
		defer s.running.Done()
		result <- guard(func() error { return f(ctx) })
	}()
	select {
	case err := <-result:
		if err != nil {
			return s.explain(ctx, what, err)
		}
		return nil
	case <-ctx.Done():
		return s.explain(ctx, what, context.Cause(ctx))
	}
}

// guard converts a panic in f into an error.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the protocol's library failed: %v", p)
		}
	}()
	return f()
}

// withoutEffect adds mcp.ErrNotRun as a cause to an error.
func withoutEffect(err error) error {
	f := *fault.As(err)
	f.Err = &notRun{f.Err}
	return &f
}

// effectUnknown adds to the error of a call that the server may have run it.
func effectUnknown(err error) error {
	f := *fault.As(err)
	f.Message += " Whether the call took effect is unknown."
	remedy := "Check its effects before you try again."
	if f.Remedy != "" && !strings.HasPrefix(f.Remedy, "Try again") {
		remedy += " " + f.Remedy
	}
	f.Remedy = remedy
	return &f
}

// notRun marks an error of a request that the server has not begun to run.
type notRun struct{ cause error }

func (e *notRun) Error() string {
	if e.cause == nil {
		return mcp.ErrNotRun.Error()
	}
	return e.cause.Error()
}

// Is reports whether target is mcp.ErrNotRun; Unwrap returns the other causes.
func (e *notRun) Is(target error) bool { return target == mcp.ErrNotRun }

func (e *notRun) Unwrap() error { return e.cause }

// Info implements [mcp.Session].
func (s *session) Info() mcp.Info { return s.info }

// Call implements [mcp.Session].
func (s *session) Call(ctx context.Context, tool string, args json.RawMessage, progress func(host.Progress)) (mcp.CallResult, error) {
	if len(args) == 0 {
		args = []byte("{}")
	}
	params := &sdk.CallToolParams{Name: tool, Arguments: args}
	if s.logs && s.info.Protocol >= newProtocol {
		params.Meta = sdk.Meta{sdk.MetaKeyLogLevel: logLevel} //lint:ignore SA1019 the protocol's way to ask for a log
	}
	token := ""
	if progress != nil {
		n := s.tokens.Add(1)
		token = strconv.FormatInt(n, 10)
		params.SetProgressToken(n)
	}
	raw, err := s.ask(ctx, methodCall, token, progress, func(ctx context.Context) error {
		_, err := s.sdk.CallTool(ctx, params)
		return err
	})
	if err != nil {
		return mcp.CallResult{}, err
	}
	return decodeResult(raw), nil
}

// ask makes one request and returns its raw result.
func (s *session) ask(ctx context.Context, method, token string, progress func(host.Progress), f func(ctx context.Context) error) ([]byte, error) {
	c := &capture{method: method, progress: progress}
	ctx = s.tap.expect(ctx, c, token)
	var raw []byte
	err := s.run(ctx, 0, method, func(ctx context.Context) error {
		c.running.Store(true)
		defer c.running.Store(false)
		if err := f(ctx); err != nil {
			return err // the result may arrive at this moment
		}
		raw = c.raw
		return nil
	})
	notRun := s.tap.forget(c)
	if err != nil {
		switch lost := fault.CodeOf(err) == fault.MCPServerUnavailable; {
		case lost && notRun:
			err = withoutEffect(err)
		case lost && method == methodCall && !c.declined.Load():
			err = effectUnknown(err)
		}
		return nil, err // raw may still be written to
	}
	if raw == nil {
		return nil, fault.New(fault.MCPToolError, "mcp.call", "The response of the MCP server "+quoted(s.name)+" to "+method+" is not unique.",
			"Check its effects before you try again, and use another release of the server.")
	}
	return raw, nil
}

// ReadResource implements [mcp.Session].
func (s *session) ReadResource(ctx context.Context, uri string) ([]tools.Resource, error) {
	raw, err := s.ask(ctx, methodRead, "", nil, func(ctx context.Context) error {
		_, err := s.sdk.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
		return err
	})
	if err != nil {
		return nil, err
	}
	return decodeResources(raw, uri), nil
}

// Prompt implements [mcp.Session].
func (s *session) Prompt(ctx context.Context, name string, args map[string]string) (mcp.PromptMessages, error) {
	raw, err := s.ask(ctx, methodPrompt, "", nil, func(ctx context.Context) error {
		_, err := s.sdk.GetPrompt(ctx, &sdk.GetPromptParams{Name: name, Arguments: args})
		return err
	})
	if err != nil {
		return mcp.PromptMessages{}, err
	}
	return decodePrompt(raw), nil
}

// Subscribe implements [mcp.Session].
func (s *session) Subscribe(ctx context.Context, uri string) error {
	return s.run(ctx, 0, "resources/subscribe", func(ctx context.Context) error {
		return s.sdk.Subscribe(ctx, &sdk.SubscribeParams{URI: uri})
	})
}

// Stderr implements [mcp.Session].
func (s *session) Stderr() []string { return s.peer.lastLines() }

// Done implements [mcp.Session].
func (s *session) Done() <-chan struct{} { return s.done }

// Err implements [mcp.Session].
func (s *session) Err() error {
	select {
	case <-s.done:
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.err
	default:
		return nil
	}
}

// lostBy returns why the connection was lost, or nil if it was not.
func (s *session) lostBy() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *session) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Close implements [mcp.Session].
func (s *session) Close() error {
	s.mu.Lock()
	if !s.closed && !s.ending { // a lost connection keeps its reason
		s.closed, s.unanswered = true, s.tap.unanswered()
	}
	s.mu.Unlock()
	s.stop(errClosed)
	<-s.done
	return nil
}

// farewell is the time limit for the server to process the end of the session.
const farewell = 3 * time.Second

// live waits for the end of the connection, by Close or by the server, and
// releases its resources. It owns done.
func (s *session) live() {
	defer close(s.done)
	over := make(chan error, 1)
	go func() { over <- guard(s.sdk.Wait) }()
	var err error
	select {
	case <-s.ctx.Done():
		// Running calls are cancelled first, because the SDK waits for them, and
		// the server has to be notified of the cancellation.
		patience := time.After(farewell)
		s.mu.Lock()
		unanswered := s.unanswered
		s.mu.Unlock()
		for cancelled := 0; cancelled < unanswered; cancelled++ {
			select {
			case <-s.tap.cancels:
			case <-patience:
				cancelled = unanswered
			}
		}
		go func() { _ = guard(s.sdk.Close) }()
		select {
		case <-over:
		case <-patience:
		}
	case err = <-over:
	}
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	var reason error
	if !closed {
		if err == nil {
			err = sdk.ErrConnectionClosed
		}
		reason = s.lost(err)
	}
	s.mu.Lock()
	s.ending, s.err = true, reason
	s.mu.Unlock()
	s.stop(errClosed)
	s.peer.cut()
	s.peer.end()
	_ = guard(s.sdk.Close)
	s.running.Wait()
}

// lost returns the error for a connection that the server ended.
func (s *session) lost(err error) error {
	ctx := context.WithoutCancel(s.ctx)
	return s.explain(ctx, "the connection", err)
}

// RootsChanged implements [mcp.Session].
func (s *session) RootsChanged(ctx context.Context) {
	if s.h.Roots == nil {
		return
	}
	_ = s.run(ctx, 0, "roots", func(context.Context) error { // the session has ended
		s.tellRoots()
		return nil
	})
}
