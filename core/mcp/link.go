package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"sync"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// link is one connection of a server.
type link struct {
	session Session
	info    Info
	done    <-chan struct{} // of session
	missed  changeSet       // lists that could not be fetched on connecting

	changes  chan struct{} // receives a value when pending is not empty
	unusable chan struct{} // closed when a request has shown that the session is unusable
	giveUp   func()        // closes useless; idempotent

	mu      sync.Mutex
	pending changeSet
	ended   bool
	calls   map[*context.CancelCauseFunc]bool // of the running requests
}

func newLink() *link {
	l := &link{changes: make(chan struct{}, 1), unusable: make(chan struct{}), calls: make(map[*context.CancelCauseFunc]bool)}
	l.giveUp = sync.OnceFunc(func() { close(l.unusable) })
	return l
}

// changeSet is a set of lists to refresh and of changes to report.
type changeSet uint8

const (
	toolsChanged changeSet = 1 << iota
	resourcesChanged
	promptsChanged
	rootsChanged
)

// notify adds d to the pending changes. It does not block.
func (l *link) notify(d changeSet) {
	l.mu.Lock()
	l.pending |= d
	l.mu.Unlock()
	select {
	case l.changes <- struct{}{}:
	default: // already signalled
	}
}

// takePending returns the pending changes and clears them.
func (l *link) takePending() changeSet {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.pending
	l.pending = 0
	return d
}

// end cancels the running requests and refuses new ones.
func (l *link) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for cancel := range l.calls {
		(*cancel)(errLost)
	}
	clear(l.calls)
}

// isDone reports whether the session has ended or become unusable.
func (l *link) isDone() bool {
	select {
	case <-l.done:
		return true
	case <-l.unusable:
		return true
	default:
		return false
	}
}

// request runs a request. Its ctx ends with errLost when the connection does.
func (l *link) request(ctx context.Context, run func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l.mu.Lock()
	if l.ended {
		l.mu.Unlock()
		return ErrNotRun
	}
	l.calls[&cancel] = true
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.calls, &cancel)
	}()
	err := run(ctx)
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrNotRun) {
		return err
	}
	if l.isDone() {
		return errLost
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// handlers returns the callbacks through which a session notifies the server.
func (s *server) handlers(l *link) Handlers {
	h := Handlers{
		Log: s.note,
		Changed: func(c Change) {
			if c.Tools {
				l.notify(toolsChanged)
			}
			if c.Resources {
				l.notify(resourcesChanged)
			}
			if c.Prompts {
				l.notify(promptsChanged)
			}
		},
	}
	if s.m.o.Elicit != nil {
		h.Elicit = func(ctx context.Context, e host.Elicitation) (host.Elicited, error) { return s.elicit(ctx, l, e) }
	}
	if roots := s.m.o.Roots; roots != nil {
		h.Roots = func() (dirs []string) {
			if err := s.protect("list the roots", func() error { dirs = roots(); return nil }); err != nil {
				s.m.o.Logger.Error("the roots for an MCP server could not be listed", "server", s.Name, "error", err)
			}
			return dirs
		}
	}
	return h
}

// note logs a log message of the server.
func (s *server) note(e host.LogEntry) {
	write := s.m.o.Logger.Debug
	switch e.Level {
	case host.LogWarning:
		write = s.m.o.Logger.Info
	case host.LogError, host.LogCritical, host.LogAlert, host.LogEmergency:
		write = s.m.o.Logger.Warn
	}
	text := string(e.Data)
	var plain string
	if json.Unmarshal(e.Data, &plain) == nil {
		text = plain
	}
	write("message of an MCP server", "server", s.Name, "logger", escape.Plain(e.Logger, 100), "text", escape.Plain(s.mask.Hide(text), 2000))
}

// Maximum number of entries of each kind kept from one server; the first ones are
// kept.
const (
	maxTools     = 5_000
	maxResources = 10_000
	maxPrompts   = 1_000
)

// list fetches the lists in d, each within the connection timeout, and returns
// them merged with the rest of old. A list that could not be fetched is in missed
// and keeps its old content; err is the error of the tools. The declared tools
// have not been created yet, see [server.declare].
func (s *server) list(ctx context.Context, l *link, d changeSet, old *offer) (o *offer, missed changeSet, err error) {
	o = new(offer)
	*o = *old
	look := func(kind changeSet, what string, list func(ctx context.Context) error) error {
		if d&kind == 0 {
			return nil
		}
		ctx, cancel := context.WithTimeoutCause(ctx, s.connectTimeout(), errLate)
		defer cancel()
		err := s.protect("list the "+what, func() error { return list(ctx) })
		if err != nil {
			missed |= kind
			s.m.o.Logger.Warn("an MCP server failed to list its "+what, "server", s.Name, "error", s.mask.Hide(err.Error()))
		}
		return err
	}
	err = look(toolsChanged, "tools", func(ctx context.Context) error {
		declared, err := l.session.Tools(ctx)
		if err == nil {
			o.declared = declared
		}
		return err
	})
	_ = look(resourcesChanged, "resources", func(ctx context.Context) error {
		resources, err := l.session.Resources(ctx)
		if err != nil {
			return err
		}
		o.resources = resources[:min(len(resources), maxResources)]
		templates, err := l.session.ResourceTemplates(ctx)
		if err == nil {
			o.templates = templates[:min(len(templates), maxResources)]
		}
		return err
	})
	_ = look(promptsChanged, "prompts", func(ctx context.Context) error {
		prompts, err := l.session.Prompts(ctx)
		if err == nil {
			o.prompts = prompts[:min(len(prompts), maxPrompts)]
		}
		return err
	})
	return o, missed, err
}

// refresh fetches the lists in d and reports a change. It returns the lists that
// could not be fetched.
func (s *server) refresh(ctx context.Context, l *link, d changeSet) (missed changeSet) {
	if d&rootsChanged != 0 {
		s.notifyRoots(ctx, l)
	}
	old := s.offered()
	now, missed, _ := s.list(ctx, l, d, old)
	if reflect.DeepEqual(old.declared, now.declared) && reflect.DeepEqual(old.resources, now.resources) &&
		reflect.DeepEqual(old.templates, now.templates) && reflect.DeepEqual(old.prompts, now.prompts) {
		return missed
	}
	s.declare(now, old)
	s.set(func(*Status) { s.offer = now })
	s.m.notifyChange(s.Name)
	return missed
}

// notifyRoots notifies the session that the roots have changed.
func (s *server) notifyRoots(ctx context.Context, l *link) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.connectTimeout(), errLate)
	defer cancel()
	if err := s.protect("notify of changed roots", func() error { l.session.RootsChanged(ctx); return nil }); err != nil {
		s.m.o.Logger.Warn("an MCP server could not be notified of changed roots", "server", s.Name, "error", s.mask.Hide(err.Error()))
	}
}

// request runs a request of a server that is connected or reconnects in time. It
// repeats the request once over a new connection if the server has certainly not
// begun to run it, for example after the server was restarted. The error is that
// of ctx, a *tools.Defect, or a *fault.Error with secrets masked. step names the
// request, and what is a noun phrase for its object.
func (s *server) request(ctx context.Context, step, what string, run func(ctx context.Context, session Session) error) error {
	limited, stop := s.limited(ctx)
	defer stop()
	for again := false; ; again = true {
		l, err := s.acquire(limited)
		if err == nil {
			err = l.request(limited, func(ctx context.Context) error {
				return s.protect(step, func() error { return run(ctx, l.session) })
			})
		}
		switch {
		case err == nil:
			return nil
		case again, l == nil, !errors.Is(err, ErrNotRun), limited.Err() != nil:
			return s.requestError(ctx, what, l, err)
		}
		l.giveUp()
	}
}
