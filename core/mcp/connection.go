package mcp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os/exec"
	"time"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

// Parameters of reconnection.
const (
	firstTries      = 4                      // attempts for a server that was never connected
	minDelay        = time.Second            // first delay between two attempts
	maxDelay        = time.Minute            // upper bound of the delay
	stableAfter     = 30 * time.Second       // a connection that lasted this long resets the backoff
	toolsGrace      = 2 * time.Minute        // how long the tools of a disconnected server stay registered
	attemptGrace    = 2 * time.Second        // additional time for an attempt to return after its deadline
	refreshInterval = 200 * time.Millisecond // minimum time between two refreshes of the lists
)

// backoff returns the delay after the given number of consecutive failures. It
// adds jitter, so that servers do not reconnect all at once.
func backoff(failures int) time.Duration {
	wait := maxDelay
	if failures < 7 {
		wait = minDelay << (failures - 1)
	}
	wait = min(wait, maxDelay*4/5)
	return wait + rand.N(wait/4+1)
}

// supervise runs the server's connections and applies commands until ctx ends.
func (s *server) supervise(ctx context.Context) {
	defer close(s.stopped)
	stop := func() {}
	begin := func(first func(error)) {
		life, cancel := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.keepConnected(life, first)
		}()
		stop = func() { cancel(); <-ended }
	}
	if !s.Disabled {
		begin(func(error) { s.settle() })
	}
	for {
		select {
		case <-ctx.Done():
			stop()
			s.withdraw()
			s.set(func(st *Status) { st.State, st.Error, st.Next = StateDisconnected, s.notMaintained(), time.Time{} })
			s.settle()
			return
		case c := <-s.commands:
			stop()
			if !c.disable {
				begin(func(err error) { s.settle(); c.reply <- err })
				continue
			}
			stop = func() {}
			s.withdraw()
			s.set(func(st *Status) { st.State, st.Error, st.Next, st.Attempts = StateDisabled, nil, time.Time{}, 0 })
			s.m.notifyChange(s.Name)
			c.reply <- nil
		}
	}
}

// keepConnected connects the server and keeps it connected until ctx ends or retrying
// cannot succeed. It calls first once, with the outcome of the first attempt.
func (s *server) keepConnected(ctx context.Context, first func(error)) {
	reported := false
	report := func(err error) {
		if !reported {
			reported = true
			first(err)
		}
	}
	defer func() { report(s.interrupted()) }()
	failures := 0
	gone := time.Now() // when the server behind the registered tools was lost
	s.set(func(st *Status) { st.Attempts, st.Error = 0, nil })
	for {
		l, why := s.connect(ctx)
		var stderr []string
		if l != nil {
			report(nil)
			begun := time.Now()
			stderr, why = s.watchChanges(ctx, l)
			gone = time.Now()
			if gone.Sub(begun) >= stableAfter {
				failures = 0
			}
		}
		if ctx.Err() != nil {
			s.set(func(st *Status) {
				s.link = nil
				st.State, st.Error, st.Next = StateDisconnected, s.interrupted(), time.Time{}
			})
			s.end(l)
			return
		}
		failures++
		wait := backoff(failures)
		if s.final(why, failures) {
			wait = 0
			s.withdraw()
		}
		s.set(func(st *Status) {
			st.State, st.Error, st.Next = StateDisconnected, why, time.Time{}
			if wait > 0 {
				st.Next = time.Now().Add(wait)
			}
			if l != nil {
				s.link, st.Stderr = nil, stderr
			}
		})
		s.m.o.Logger.Warn("an MCP server is not connected", "server", s.Name, "error", why, "again", wait)
		s.m.notifyChange(s.Name)
		report(why)
		s.end(l)
		if wait == 0 || !s.pause(ctx, wait, gone.Add(toolsGrace)) {
			return
		}
	}
}

// final reports whether retrying cannot succeed.
func (s *server) final(why error, failures int) bool {
	switch {
	case fault.CodeOf(why) == fault.MCPSignInRequired:
		return true
	case s.connected:
		return false // a missing program may reappear, for example after an update
	case fault.CodeOf(why) == fault.InvalidConfig, errors.Is(why, exec.ErrNotFound), errors.Is(why, fs.ErrNotExist), errors.Is(why, fs.ErrPermission):
		return true
	}
	return failures >= firstTries
}

// pause waits, and unregisters the tools at the given time. It reports false if
// ctx has ended.
func (s *server) pause(ctx context.Context, wait time.Duration, until time.Time) bool {
	over := time.NewTimer(wait)
	defer over.Stop()
	kept := time.NewTimer(time.Until(until))
	defer kept.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-over.C:
			return true
		case <-kept.C:
			if s.withdraw() {
				s.m.notifyChange(s.Name)
			}
		}
	}
}

// attempt is the outcome of an attempt to connect.
type attempt struct {
	link   *link
	offer  *offer
	err    error
	stderr []string
}

// connect makes one attempt to connect. It returns the connection or the reason
// of the failure.
func (s *server) connect(ctx context.Context) (*link, error) {
	begun := time.Now()
	s.set(func(st *Status) {
		st.State, st.Next = StateConnecting, time.Time{}
		st.Attempts++
	})
	s.m.notifyChange(s.Name)
	a := s.try(ctx)
	if a.err != nil {
		why := s.connectError(a.err, a.stderr)
		s.set(func(st *Status) { st.Took, st.Stderr = time.Since(begun), a.stderr })
		return nil, why
	}
	s.connected = true
	s.declare(a.offer, s.offered()) // takes time that does not count against the server's deadline
	took := time.Since(begun)
	s.set(func(st *Status) {
		s.link, s.offer = a.link, a.offer
		st.State, st.Error, st.Info, st.Took, st.Attempts, st.Stderr = StateConnected, nil, a.link.info, took, 0, nil
		if a.link.info.Transport != "" {
			st.Transport = a.link.info.Transport
		}
	})
	s.m.o.Logger.Info("an MCP server is connected", "server", s.Name, "tools", len(a.offer.tools), "dropped", len(a.offer.dropped), "took", took)
	s.m.notifyChange(s.Name)
	return a.link, nil
}

// try dials the server and lists its features within the connection timeout. A
// Dialer that does not return in time keeps running in the background; the next
// attempt and Close wait for it, and a session that it returns late is closed.
func (s *server) try(ctx context.Context) attempt {
	ctx, cancel := context.WithTimeoutCause(ctx, s.attemptTimeout(), errLate)
	defer cancel()
	if s.returned != nil {
		select {
		case <-s.returned:
		case <-ctx.Done():
			return attempt{err: s.unavailable("an earlier attempt to connect has not returned yet", checkServer, nil, context.Cause(ctx))}
		}
	}
	result, returned, late := make(chan attempt), make(chan struct{}), make(chan struct{})
	s.returned = returned
	s.m.running.Go(func() {
		defer close(returned)
		a := s.dial(ctx)
		select {
		case result <- a:
		case <-late:
			s.end(a.link)
		}
	})
	select {
	case a := <-result:
		return a
	case <-ctx.Done():
	}
	over := time.NewTimer(attemptGrace) // time for the Dialer to report its own error
	defer over.Stop()
	select {
	case a := <-result:
		return a
	case <-over.C:
		close(late)
		return attempt{err: context.Cause(ctx)}
	}
}

// dial connects and lists the server's features.
func (s *server) dial(ctx context.Context) (a attempt) {
	l := newLink()
	a.err = s.protect("dial", func() (err error) {
		l.session, err = s.m.o.Dialer.Dial(ctx, s.ServerSpec, s.handlers(l))
		return err
	})
	if a.err == nil && l.session == nil {
		a.err = errors.New("the dialer returned neither a session nor an error")
	}
	if a.err != nil {
		return a
	}
	a.err = s.protect("watch the session", func() error {
		l.info, l.done = l.session.Info(), l.session.Done()
		l.info.Instructions = escape.ClipBytes(l.info.Instructions, maxInstructions)
		return nil
	})
	if a.err == nil {
		a.offer, l.missed, a.err = s.list(ctx, l, toolsChanged|resourcesChanged|promptsChanged, s.offered())
	}
	if a.err != nil {
		if ctx.Err() != nil {
			a.err = context.Cause(ctx)
		}
		a.stderr = s.stderr(l.session)
		s.end(l)
		return a
	}
	a.link = l
	return a
}

// watchChanges processes the server's change notifications until the connection or ctx
// ends. A list that cannot be fetched is retried after a second, then with longer
// delays of up to a minute. It returns the last lines of the server's stderr and
// the reason why the connection ended.
func (s *server) watchChanges(ctx context.Context, l *link) (stderr []string, why error) {
	changes := l.changes
	var quiet, again <-chan time.Time
	missed, failures := l.missed, 0
	look := func() {
		switch {
		case missed == 0:
			again, failures = nil, 0
		case again == nil:
			failures++
			again = time.After(backoff(failures))
		}
	}
	for look(); ; {
		select {
		case <-ctx.Done():
			return nil, s.notMaintained()
		case <-l.done:
			l.end()
			var err error
			if p := s.protect("return why the session ended", func() error { err = l.session.Err(); return nil }); p != nil {
				err = p
			}
			stderr = s.stderr(l.session)
			return stderr, s.connectionLost(err, stderr)
		case <-l.unusable:
			l.end()
			return s.stderr(l.session), s.unavailable("it does not know the session any more, for example after a restart", checkServer, nil, nil)
		case <-again:
			again = nil
			l.notify(missed)
		case <-changes:
			d := l.takePending()
			missed = missed&^d | s.refresh(ctx, l, d)
			look()
			changes, quiet = nil, time.After(refreshInterval) // bounds the rate for a server that sends changes continuously
		case <-quiet:
			changes, quiet = l.changes, nil
		}
	}
}

// end closes a connection, or does nothing for nil. Calls that use the connection
// fail.
func (s *server) end(l *link) {
	if l == nil {
		return
	}
	l.end()
	if err := s.protect("close the session", l.session.Close); err != nil {
		s.m.o.Logger.Debug("closing the connection of an MCP server failed", "server", s.Name, "error", s.mask.Hide(err.Error()))
	}
}

// stderr returns the last lines of the server process's stderr, with secrets
// masked.
func (s *server) stderr(session Session) []string {
	var lines []string
	if err := s.protect("read stderr", func() error { lines = session.Stderr(); return nil }); err != nil {
		return []string{fmt.Sprint(err)}
	}
	const most = 50
	lines = lines[max(0, len(lines)-most):]
	shown := make([]string, 0, len(lines))
	for _, line := range lines {
		shown = append(shown, escape.Plain(s.mask.Hide(line), 500))
	}
	return shown
}
