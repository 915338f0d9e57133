package client

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/tools"
)

// discoverLimit is how long the client waits for the answer to server/discover
// before it assumes a server that predates the method.
const discoverLimit = 5 * time.Second

// oldProtocol is the last revision that is negotiated by initialize.
const oldProtocol = "2025-11-25"

// Dial implements [mcp.Dialer]. It ends after the spec's ConnectTimeout, not
// counting the time in which the user signs in.
//
// For a server at a URL without a transport it uses streamable HTTP, and SSE if
// the server answers 400, 404 or 405.
func (d *Dialer) Dial(ctx context.Context, spec mcp.ServerSpec, h mcp.Handlers) (mcp.Session, error) {
	limit := cmp.Or(max(spec.ConnectTimeout, 0), min(30*time.Second, cmp.Or(max(spec.Timeout, 0), 30*time.Second)))
	clock := newClock(ctx, limit)
	defer clock.end()
	s, err := d.dial(clock, spec, h)
	if err != nil {
		d.o.Logger.DebugContext(ctx, "mcp: not connected", "server", spec.Name, "error", err)
		return nil, err
	}
	return s, nil
}

func (d *Dialer) dial(c *clock, spec mcp.ServerSpec, h mcp.Handlers) (*session, error) {
	v := mcp.NewMask(spec)
	switch {
	case spec.InProcess != nil:
		s, _, err := d.open(c, spec, h, v, "", func(t *tap) (peer, error) { return orNil(d.startLocal(c.ctx, spec, t, v)) })
		return s, err
	case spec.Command != "":
		start := func(t *tap) (peer, error) { return orNil(d.startProgram(c.ctx, spec, t, v)) }
		s, discover, err := d.open(c, spec, h, v, "", start)
		if discover && c.ctx.Err() == nil {
			s, _, err = d.open(c, spec, h, v, oldProtocol, start)
		}
		return s, err
	case spec.URL != "":
		return d.dialURL(c, spec, h, v)
	case spec.TCP != "":
		return nil, fault.New(fault.InvalidConfig, "mcp.dial", "The MCP server "+quoted(spec.Name)+" is configured with tcp, a WebSocket, which is not supported.", // WebSockets are not supported
			"Use a server that is a program (command), or one that uses HTTP (url).")
	}
	return nil, fault.New(fault.InvalidConfig, "mcp.dial", "The settings of the MCP server "+quoted(spec.Name)+" have no address.",
		"Set a command or a url.")
}

// orNil keeps a nil pointer from becoming a non-nil peer.
func orNil[P peer](p P, err error) (peer, error) {
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (d *Dialer) dialURL(c *clock, spec mcp.ServerSpec, h mcp.Handlers, v *mcp.Mask) (*session, error) {
	var handler auth.OAuthHandler
	if d.o.Auth != nil {
		if of := d.o.Auth.Handler(spec); of != nil {
			handler = &patient{of, c}
		}
	}
	var r *remote
	by := func(kind mcp.Transport) func(*tap) (peer, error) {
		return func(t *tap) (_ peer, err error) {
			r, err = d.newRemote(c.ctx, spec, kind, t, v, handler)
			return orNil(r, err)
		}
	}
	if spec.Transport == mcp.TransportSSE {
		s, _, err := d.open(c, spec, h, v, oldProtocol, by(mcp.TransportSSE))
		return s, err
	}
	s, _, err := d.open(c, spec, h, v, "", by(mcp.TransportHTTP))
	if err == nil || spec.Transport == mcp.TransportHTTP || r == nil || !r.refused() || c.ctx.Err() != nil {
		return s, err
	}
	s, _, second := d.open(c, spec, h, v, oldProtocol, by(mcp.TransportSSE))
	if second != nil && (fault.CodeOf(second) != fault.MCPSignInRequired) {
		return nil, err // of the current transport
	}
	return s, second
}

// open starts or reaches the server and negotiates a protocol revision, the
// latest one for version "". When it fails, everything that it started has ended;
// discover reports that server/discover may be the cause: some old servers exit on
// an unknown method, and one that starts slowly reads it together with the
// initialize that follows, which it may refuse as a second negotiation.
func (d *Dialer) open(c *clock, spec mcp.ServerSpec, h mcp.Handlers, v *mcp.Mask, version string, start func(*tap) (peer, error)) (_ *session, discover bool, _ error) {
	ctx := c.ctx
	t := newTap()
	p, err := start(t)
	if err != nil {
		return nil, false, err
	}
	s := &session{d: d, name: spec.Name, spec: spec, h: h, mask: v, tap: t, peer: p, done: make(chan struct{})}
	s.ctx, s.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	s.client = s.newClient()
	over := make(chan error, 1)
	transport, kind := p.transport()
	go func() {
		over <- guard(func() (err error) {
			s.sdk, err = s.client.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
			return err
		})
	}()
	select {
	case err = <-over:
	case <-ctx.Done():
		err = context.Cause(ctx)
		p.cut()
		abandon(over)
	case <-p.gone():
		select { // its earlier output counts
		case err = <-over:
		case <-ctx.Done():
			err = context.Cause(ctx)
			p.cut()
			abandon(over)
		}
	}
	if err != nil {
		_, refused := answerOf(err)
		discover = refused && t.isProbeLate()
		select {
		case <-p.gone():
			discover = discover || !t.hasHeard()
		default:
		}
		err = s.refused(ctx, err)
		s.stop(errClosed)
		p.end()
		return nil, discover, err
	}
	s.describe(kind)
	go s.live()
	s.begin(ctx)
	return s, false, nil
}

// abandon waits for an interrupted operation, unless that hangs.
func abandon(over <-chan error) {
	select {
	case <-over:
	case <-time.After(farewell):
	}
}

// refused returns the error for a connection that was not established.
func (s *session) refused(ctx context.Context, err error) error {
	if _, version, found := strings.Cut(err.Error(), "unsupported protocol version: "); found {
		return unavailable(s.name, s.mask, "It uses the version "+stated(version)+" of the protocol, which is not supported.",
			"Use another release of the server, or of fettle.", nil, err)
	}
	if answer, ok := answerOf(err); ok && context.Cause(ctx) == nil {
		return unavailable(s.name, s.mask, "It refused the initialization: "+words(s.mask, answer.Message)+".", "", s.peer.lastLines(), err)
	}
	f := fault.As(s.explain(ctx, "to begin", err))
	if f.Code == fault.MCPServerUnavailable && errors.Is(context.Cause(ctx), errSlow) {
		return unavailable(s.name, s.mask, "It was not ready in time.", "Check that it starts, or set a longer timeout in its settings.", s.peer.lastLines(), err)
	}
	return f
}

// stated formats a text that an error quotes for a message.
func stated(s string) string {
	if plain, err := strconv.Unquote(s); err == nil {
		s = plain
	}
	return tools.Quote(s, 60)
}

// describe records the information that the server reports about itself.
func (s *session) describe(kind mcp.Transport) {
	s.info.Transport = kind
	r := s.sdk.InitializeResult()
	if r == nil {
		return
	}
	s.info.Protocol, s.info.Instructions = r.ProtocolVersion, r.Instructions
	if r.ServerInfo != nil {
		s.info.Name, s.info.Title, s.info.Version = r.ServerInfo.Name, r.ServerInfo.Title, r.ServerInfo.Version
	}
	if c := r.Capabilities; c != nil {
		s.info.HasTools, s.info.HasResources, s.info.HasPrompts = c.Tools != nil, c.Resources != nil, c.Prompts != nil
		s.logs = c.Logging != nil && s.h.Log != nil //lint:ignore SA1019 the protocol's way to send a log
	}
}

// clock measures the connection timeout. It is suspended while the user signs in.
type clock struct {
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	left  time.Duration
	since time.Time
	timer *time.Timer
}

func newClock(ctx context.Context, limit time.Duration) *clock {
	c := &clock{left: limit, since: time.Now()}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.timer = time.AfterFunc(limit, func() { c.cancel(errSlow) })
	return c
}

func (c *clock) end() {
	c.timer.Stop()
	c.cancel(nil)
}

// pause suspends the clock until the returned function is called.
func (c *clock) pause() (resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.timer.Stop() { // expired, or already suspended
		return func() {}
	}
	c.left -= time.Since(c.since)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.ctx.Err() == nil {
			c.since = time.Now()
			c.timer.Reset(max(c.left, time.Second))
		}
	}
}

// patient suspends the connection timeout while the user signs in.
type patient struct {
	auth.OAuthHandler
	clock *clock
}

// Authorize implements the SDK's handler.
func (p *patient) Authorize(ctx context.Context, q *http.Request, r *http.Response) error {
	defer p.clock.pause()()
	return p.OAuthHandler.Authorize(ctx, q, r)
}
