package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"sync"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/tools"
)

// link is one connection of a server.
type link struct {
	session Session
	info    Info
	done    <-chan struct{} // of session
	missed  due             // what could not be listed when it was connected

	changes chan struct{} // holds one where something is due
	useless chan struct{} // closed where a request has shown that the session is of no use
	giveUp  func()        // closes useless; idempotent

	mu    sync.Mutex
	due   due
	ended bool
	calls map[*context.CancelCauseFunc]bool // of the requests that run
}

func newLink() *link {
	l := &link{changes: make(chan struct{}, 1), useless: make(chan struct{}), calls: make(map[*context.CancelCauseFunc]bool)}
	l.giveUp = sync.OnceFunc(func() { close(l.useless) })
	return l
}

// due says what of a server is to be looked at again, or told.
type due uint8

const (
	dueTools due = 1 << iota
	dueResources
	duePrompts
	dueRoots
)

// poke notes that something is due. It does not block.
func (l *link) poke(d due) {
	l.mu.Lock()
	l.due |= d
	l.mu.Unlock()
	select {
	case l.changes <- struct{}{}:
	default: // it is known already
	}
}

// take returns what is due, which no longer is.
func (l *link) take() due {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.due
	l.due = 0
	return d
}

// end has the requests that run fail, and those to come.
func (l *link) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for cancel := range l.calls {
		(*cancel)(errLost)
	}
	clear(l.calls)
}

// isDone reports whether the session has ended, or is of no use any more.
func (l *link) isDone() bool {
	select {
	case <-l.done:
		return true
	case <-l.useless:
		return true
	default:
		return false
	}
}

// request runs a request, whose ctx ends with errLost when the connection does.
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

// handlers are what a session tells the server of.
func (s *server) handlers(l *link) Handlers {
	h := Handlers{
		ToolsChanged:     func() { l.poke(dueTools) },
		ResourcesChanged: func() { l.poke(dueResources) },
		PromptsChanged:   func() { l.poke(duePrompts) },
		Log:              s.note,
	}
	if s.m.o.Elicit != nil {
		h.Elicit = func(ctx context.Context, e tools.Elicitation) (tools.Elicited, error) { return s.elicit(ctx, l, e) }
	}
	if roots := s.m.o.Roots; roots != nil {
		h.Roots = func() (folders []string) {
			if err := s.protect("list the roots", func() error { folders = roots(); return nil }); err != nil {
				s.m.o.Logger.Error("the roots for an MCP server cannot be listed", "server", s.Name, "error", err)
			}
			return folders
		}
	}
	return h
}

// note logs what a server says of itself.
func (s *server) note(e tools.LogEntry) {
	write := s.m.o.Logger.Debug
	switch e.Level {
	case tools.LogWarning:
		write = s.m.o.Logger.Info
	case tools.LogError, tools.LogCritical, tools.LogAlert, tools.LogEmergency:
		write = s.m.o.Logger.Warn
	}
	text := string(e.Data)
	var plain string
	if json.Unmarshal(e.Data, &plain) == nil {
		text = plain
	}
	write("an MCP server says", "server", s.Name, "logger", escape.Plain(e.Logger, 100), "text", escape.Plain(s.mask.Hide(text), 2000))
}

// How many of each kind are taken from one server, the first.
const (
	maxTools     = 5_000
	maxResources = 10_000
	maxPrompts   = 1_000
)

// list asks a session for what is due, each kind for itself within the time to
// connect, and returns it with the rest of what there was. What could not be listed
// is missed, and as it was; err is why the tools are. Those that are declared are yet
// to be made, see [server.declare].
func (s *server) list(ctx context.Context, l *link, d due, old *offer) (o *offer, missed due, err error) {
	o = new(offer)
	*o = *old
	look := func(kind due, what string, list func(ctx context.Context) error) error {
		if d&kind == 0 {
			return nil
		}
		ctx, cancel := context.WithTimeoutCause(ctx, s.connectTimeout(), errLate)
		defer cancel()
		err := s.protect("list the "+what, func() error { return list(ctx) })
		if err != nil {
			missed |= kind
			s.m.o.Logger.Warn("an MCP server does not list its "+what, "server", s.Name, "error", s.mask.Hide(err.Error()))
		}
		return err
	}
	err = look(dueTools, "tools", func(ctx context.Context) error {
		declared, err := l.session.Tools(ctx)
		if err == nil {
			o.declared = declared
		}
		return err
	})
	_ = look(dueResources, "resources", func(ctx context.Context) error {
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
	_ = look(duePrompts, "prompts", func(ctx context.Context) error {
		prompts, err := l.session.Prompts(ctx)
		if err == nil {
			o.prompts = prompts[:min(len(prompts), maxPrompts)]
		}
		return err
	})
	return o, missed, err
}

// refresh looks at what is due, and tells if anything is not as it was. It returns
// what could not be listed.
func (s *server) refresh(ctx context.Context, l *link, d due) (missed due) {
	if d&dueRoots != 0 {
		s.tellRoots(ctx, l)
	}
	old := s.offered()
	now, missed, _ := s.list(ctx, l, d, old)
	if reflect.DeepEqual(old.declared, now.declared) && reflect.DeepEqual(old.resources, now.resources) &&
		reflect.DeepEqual(old.templates, now.templates) && reflect.DeepEqual(old.prompts, now.prompts) {
		return missed
	}
	s.declare(now, old)
	s.set(func(*Status) { s.offer = now })
	s.m.tell(s.Name)
	return missed
}

// tellRoots has a session say that the roots are others.
func (s *server) tellRoots(ctx context.Context, l *link) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.connectTimeout(), errLate)
	defer cancel()
	if err := s.protect("tell of other roots", func() error { l.session.RootsChanged(ctx); return nil }); err != nil {
		s.m.o.Logger.Warn("an MCP server is not told of other roots", "server", s.Name, "error", s.mask.Hide(err.Error()))
	}
}

// request runs a request of a server that is connected or comes back in time. It
// runs it once more over a new connection where the server has certainly not begun
// to, as after its restart. The
// error is that of ctx, a *tools.Defect, or a *fault.Error without secrets; step
// names the request, and what is a noun for what was asked for.
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
			return s.explain(ctx, what, l, err)
		}
		l.giveUp()
	}
}
