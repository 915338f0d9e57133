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

// How a connection is tried again.
const (
	firstTries = 4                      // of a server that was never connected
	shortest   = time.Second            // before the second try
	longest    = time.Minute            // before any
	lasting    = 30 * time.Second       // a connection that lasts so long was good: its loss is the first of new ones
	grace      = 2 * time.Minute        // that the tools of a lost server stay
	lateness   = 2 * time.Second        // that an attempt has to return once its time is over
	calm       = 200 * time.Millisecond // between two looks at what has changed
)

// backoff is how long to wait after so many failures, one after the other. It
// differs a little each time, so that servers do not come back all at once.
func backoff(failures int) time.Duration {
	wait := longest
	if failures < 7 {
		wait = shortest << (failures - 1)
	}
	wait = min(wait, longest*4/5)
	return wait + rand.N(wait/4+1)
}

// supervise lives the server's lives, as they are wanted, until ctx ends.
func (s *server) supervise(ctx context.Context) {
	defer close(s.gone)
	stop := func() {}
	begin := func(first func(error)) {
		life, cancel := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.live(life, first)
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
			s.set(func(st *Status) { st.State, st.Error, st.Next = StateDisconnected, s.stopped(), time.Time{} })
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
			s.m.tell(s.Name)
			c.reply <- nil
		}
	}
}

// live connects the server and keeps it connected until ctx ends or there is no
// use in trying again. It tells first, once, whether the server is connected.
func (s *server) live(ctx context.Context, first func(error)) {
	told := false
	tell := func(err error) {
		if !told {
			told = true
			first(err)
		}
	}
	defer func() { tell(s.interrupted()) }()
	failures := 0
	gone := time.Now() // when the tools that there are have lost their server
	s.set(func(st *Status) { st.Attempts, st.Error = 0, nil })
	for {
		l, why := s.connect(ctx)
		var stderr []string
		if l != nil {
			tell(nil)
			begun := time.Now()
			stderr, why = s.attend(ctx, l)
			gone = time.Now()
			if gone.Sub(begun) >= lasting {
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
		s.m.tell(s.Name)
		tell(why)
		s.end(l)
		if wait == 0 || !s.rest(ctx, wait, gone.Add(grace)) {
			return
		}
	}
}

// final reports whether there is no use in trying again.
func (s *server) final(why error, failures int) bool {
	switch {
	case fault.CodeOf(why) == fault.MCPSignInRequired:
		return true
	case s.connected:
		return false // a program that is gone may come back, as after an update
	case fault.CodeOf(why) == fault.InvalidConfig, errors.Is(why, exec.ErrNotFound), errors.Is(why, fs.ErrNotExist), errors.Is(why, fs.ErrPermission):
		return true
	}
	return failures >= firstTries
}

// rest waits, and takes the tools back when their time has come. It reports
// whether ctx has not ended.
func (s *server) rest(ctx context.Context, wait time.Duration, until time.Time) bool {
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
				s.m.tell(s.Name)
			}
		}
	}
}

// attempt is what came of trying to connect.
type attempt struct {
	link   *link
	offer  *offer
	err    error
	stderr []string
}

// connect makes one attempt to connect, and returns the connection or why there
// is none.
func (s *server) connect(ctx context.Context) (*link, error) {
	begun := time.Now()
	s.set(func(st *Status) {
		st.State, st.Next = StateConnecting, time.Time{}
		st.Attempts++
	})
	s.m.tell(s.Name)
	a := s.try(ctx)
	if a.err != nil {
		why := s.failed(a.err, a.stderr)
		s.set(func(st *Status) { st.Took, st.Stderr = time.Since(begun), a.stderr })
		return nil, why
	}
	s.connected = true
	s.declare(a.offer, s.offered()) // takes its time, which the server has no part in
	took := time.Since(begun)
	s.set(func(st *Status) {
		s.link, s.offer = a.link, a.offer
		st.State, st.Error, st.Info, st.Took, st.Attempts, st.Stderr = StateConnected, nil, a.link.info, took, 0, nil
		if a.link.info.Transport != "" {
			st.Transport = a.link.info.Transport
		}
	})
	s.m.o.Logger.Info("an MCP server is connected", "server", s.Name, "tools", len(a.offer.tools), "dropped", len(a.offer.dropped), "took", took)
	s.m.tell(s.Name)
	return a.link, nil
}

// try dials and lists, within the time that there is for it. A Dialer that does
// not return in time is left to itself; it is waited for by the next attempt and
// by Close, and what it may still bring is closed.
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
	over := time.NewTimer(lateness) // to say why in its own words
	defer over.Stop()
	select {
	case a := <-result:
		return a
	case <-over.C:
		close(late)
		return attempt{err: context.Cause(ctx)}
	}
}

// dial connects and lists what the server offers.
func (s *server) dial(ctx context.Context) (a attempt) {
	l := newLink()
	a.err = s.protect("dial", func() (err error) {
		l.session, err = s.m.o.Dialer.Dial(ctx, s.ServerSpec, s.handlers(l))
		return err
	})
	if a.err == nil && l.session == nil {
		a.err = errors.New("the dialer gave neither a session nor an error")
	}
	if a.err != nil {
		return a
	}
	a.err = s.protect("look at the session", func() error {
		l.info, l.done = l.session.Info(), l.session.Done()
		l.info.Instructions = escape.ClipBytes(l.info.Instructions, maxInstructions)
		return nil
	})
	if a.err == nil {
		a.offer, l.missed, a.err = s.list(ctx, l, dueTools|dueResources|duePrompts, s.offered())
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

// attend follows the server's changes until the connection or ctx ends. What cannot
// be listed it tries again, after a second and after longer pauses up to a minute. It
// returns what the server wrote last, and why the connection is no more.
func (s *server) attend(ctx context.Context, l *link) (stderr []string, why error) {
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
			return nil, s.stopped()
		case <-l.done:
			l.end()
			var err error
			if p := s.protect("say why the session ended", func() error { err = l.session.Err(); return nil }); p != nil {
				err = p
			}
			stderr = s.stderr(l.session)
			return stderr, s.lost(err, stderr)
		case <-l.useless:
			l.end()
			return s.stderr(l.session), s.unavailable("it does not know the session any more, as after a restart", checkServer, nil, nil)
		case <-again:
			again = nil
			l.poke(missed)
		case <-changes:
			d := l.take()
			missed = missed&^d | s.refresh(ctx, l, d)
			look()
			changes, quiet = nil, time.After(calm) // for a server that never stops to change
		case <-quiet:
			changes, quiet = l.changes, nil
		}
	}
}

// end closes a connection; nil is none. Calls that it serves fail.
func (s *server) end(l *link) {
	if l == nil {
		return
	}
	l.end()
	if err := s.protect("close the session", l.session.Close); err != nil {
		s.m.o.Logger.Debug("an MCP server's connection did not close well", "server", s.Name, "error", s.mask.Hide(err.Error()))
	}
}

// stderr is what the process of a session last wrote there, without secrets.
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
