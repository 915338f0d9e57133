package mcp

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// server is one server across all of its connections.
type server struct {
	m *Manager
	Configured
	never error // why it is never connected; nil: it may be
	mask  *Mask

	commands chan command
	stopped  chan struct{} // closed when no goroutine of the server runs any more
	settled  chan struct{} // closed once it has been connected or has failed
	settle   func()        // closes settled; idempotent

	questions *questions

	cancel context.CancelFunc // stops supervise; nil before Start. Protected by Manager.mu

	// Fields of the goroutine that runs supervise; see connection.go.
	returned  <-chan struct{} // closed when the last attempt has returned; nil: no attempt was made
	connected bool            // it was connected at least once

	mu      sync.Mutex
	status  Status // without the fields that snapshot adds
	link    *link  // nil: not connected
	offer   *offer
	changed chan struct{} // closed and replaced at every change of link or status
}

// command is a request of the user: restart the server, or disable it.
type command struct {
	disable bool
	reply   chan error // buffered for one value
}

// offer is the set of features that a server offers. It is immutable.
type offer struct {
	declared  []Tool // as received
	tools     []tools.DeclarativeTool
	names     []string // own names of tools, sorted
	dropped   []error
	resources []Resource
	templates []ResourceTemplate
	prompts   []Prompt
}

func newServer(m *Manager, c Configured) *server {
	s := &server{
		m: m, Configured: c, mask: NewMask(c.ServerSpec),
		commands: make(chan command), stopped: make(chan struct{}),
		settled: make(chan struct{}), changed: make(chan struct{}), offer: new(offer), questions: newQuestions(),
	}
	s.settle = sync.OnceFunc(func() { close(s.settled) })
	s.status = Status{Name: c.Name, Source: c.Source, Transport: c.transport(), State: StateDisconnected}
	switch mistake := c.mistake(); {
	case c.Blocked != nil:
		s.never, s.status.State = c.Blocked, StateBlocked
	case c.unsupported():
		s.never, s.status.State = mistake, StateUnsupported
	default:
		s.never = mistake
	}
	s.status.Error = s.never
	switch {
	case s.never != nil:
		s.settle()
	case c.Disabled:
		s.status.State = StateDisabled
		s.settle()
	default:
		s.status.Error = fault.New(fault.NotInitialized, "mcp.status", fmt.Sprintf("The MCP server %s has not been started yet.", quoted(c.Name)), "")
	}
	return s
}

// transport returns the transport for the server, as far as the spec determines
// it.
func (s ServerSpec) transport() Transport {
	switch {
	case s.Transport != "":
		return s.Transport
	case s.InProcess != nil:
		return TransportInProcess
	case s.Command != "":
		return TransportStdio
	case s.URL != "":
		return TransportHTTP
	}
	return ""
}

// unsupported reports whether the server's transport is not supported.
func (s ServerSpec) unsupported() bool {
	switch s.Transport {
	case "", TransportStdio, TransportHTTP, TransportSSE, TransportInProcess:
		return s.TCP != ""
	}
	return true
}

// mistake returns an error of code invalid_config that describes a mistake in the
// spec, or nil.
func (s ServerSpec) mistake() error {
	wrong := func(what, remedy string) error {
		return fault.New(fault.InvalidConfig, "mcp.server", fmt.Sprintf("The MCP server %s cannot be used: %s.", quoted(s.Name), what), remedy)
	}
	places := 0
	for _, given := range []bool{s.Command != "", s.URL != "", s.InProcess != nil} {
		if given {
			places++
		}
	}
	const one = "Set either command, for a program, or url, for a server that runs elsewhere."
	switch unnamed := CheckServerName(s.Name); {
	case unnamed != nil:
		return unnamed
	case s.TCP != "":
		return wrong("tcp requires a WebSocket, which is not supported", "Set url, with the type http or sse, or start it by command.")
	case s.unsupported():
		return wrong(fmt.Sprintf("the transport %s is not supported", quoted(string(s.Transport))), "Use stdio, http or sse.")
	case places == 0:
		return wrong("it has neither a command nor a url", one)
	case places > 1:
		return wrong("it has both a command and a url", one)
	case s.Command != "" && s.transport() != TransportStdio, s.URL != "" && s.transport() != TransportHTTP && s.transport() != TransportSSE,
		s.InProcess != nil && s.transport() != TransportInProcess:
		return wrong(fmt.Sprintf("the transport %s does not fit its command or url", s.Transport), "Use stdio with a command, http or sse with a url.")
	}
	return nil
}

// set changes the status and other fields protected by s.mu, and wakes the
// goroutines that wait for a change.
func (s *server) set(change func(st *Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.status)
	close(s.changed)
	s.changed = make(chan struct{})
}

// snapshot returns the current status.
func (s *server) snapshot() Status {
	s.mu.Lock()
	st, o, l := s.status, s.offer, s.link
	s.mu.Unlock()
	if l != nil {
		st.Stderr = s.stderr(l.session)
	}
	st.Stderr = slices.Clone(st.Stderr)
	st.Tools, st.Dropped = slices.Clone(o.names), slices.Clone(o.dropped)
	st.Resources = len(o.resources)
	for _, p := range o.prompts {
		st.Prompts = append(st.Prompts, p.Name)
	}
	return st
}

// offered returns the current offer.
func (s *server) offered() *offer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offer
}

// connection returns the current connection, or nil.
func (s *server) connection() *link {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link
}

// withdraw removes the server's offer. It reports whether the offer was not
// empty.
func (s *server) withdraw() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	had := len(s.offer.declared) > 0 || len(s.offer.resources) > 0 || len(s.offer.prompts) > 0
	s.offer = new(offer)
	return had
}

// reconnectWait is how long a call waits for a server to reconnect.
const reconnectWait = 30 * time.Second

// acquire returns the connection. While the server is disconnected it waits, as
// long as a connection is possible in time. The error is that of ctx, or the
// reason why there is no connection.
func (s *server) acquire(ctx context.Context) (*link, error) {
	wait := min(reconnectWait, s.timeout())
	deadline := time.Now().Add(wait)
	late := time.NewTimer(wait)
	defer late.Stop()
	for {
		s.mu.Lock()
		l, st, changed := s.link, s.status, s.changed
		s.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case l != nil && !l.isDone():
			return l, nil
		case l == nil && st.State != StateConnecting && (st.Next.IsZero() || st.Next.After(deadline)):
			return nil, s.notConnected(st)
		}
		select {
		case <-changed:
		case <-late.C:
			return nil, s.notConnected(st)
		case <-ctx.Done():
		}
	}
}

// timeout returns the timeout of one request.
func (s *server) timeout() time.Duration {
	if s.Timeout > 0 {
		return s.Timeout
	}
	return 10 * time.Minute
}

// connectTimeout returns the time limit for the server to become ready.
func (s *server) connectTimeout() time.Duration {
	if s.ConnectTimeout > 0 {
		return s.ConnectTimeout
	}
	return min(30*time.Second, s.timeout())
}

// signInTime is the additional time of an attempt during which the user may have
// to sign in. The Dialer applies the connection timeout itself.
const signInTime = 6 * time.Minute

// attemptTimeout returns the time limit of an attempt to connect.
func (s *server) attemptTimeout() time.Duration {
	if s.URL != "" && s.OAuth != nil && s.OAuth.Enabled {
		return s.connectTimeout() + signInTime
	}
	return s.connectTimeout()
}
