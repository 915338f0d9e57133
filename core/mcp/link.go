package mcp

import (
	"context"
	"encoding/json"
	"reflect"
	"sync"

	"github.com/fettle-dev/fettle/core/tools"
)

// link is one connection of a server.
type link struct {
	session Session
	info    Info
	done    <-chan struct{} // of session

	changes chan struct{} // holds one where something is due

	mu    sync.Mutex
	due   due
	ended bool
	calls map[*context.CancelCauseFunc]bool // of the requests that run
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

// isDone reports whether the session has ended.
func (l *link) isDone() bool {
	select {
	case <-l.done:
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
		return errLost
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
	if elicit := s.m.o.Elicit; elicit != nil {
		h.Elicit = func(ctx context.Context, e tools.Elicitation) (answer tools.Elicited, err error) {
			s.asking.Add(1)
			defer s.asking.Add(-1)
			err = s.protect("ask the person", func() error {
				answer, err = elicit(ctx, s.Name, e)
				return err
			})
			return answer, err
		}
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
	write("an MCP server says", "server", s.Name, "logger", oneLine(e.Logger, 100), "text", oneLine(s.mask.hide(text), 2000))
}

// How many of each kind are taken from one server, the first.
const (
	maxTools     = 5_000
	maxResources = 10_000
	maxPrompts   = 1_000
)

// list asks a session for what is due, and returns it with the rest of what there
// was. Only tools are indispensable: without them it fails. The tools that are
// declared are yet to be made, see [server.declare].
func (s *server) list(ctx context.Context, l *link, d due, old *offer) (*offer, error) {
	o := *old
	if d&dueTools != 0 {
		var declared []Tool
		err := s.protect("list the tools", func() (err error) { declared, err = l.session.Tools(ctx); return err })
		if err != nil {
			return nil, err
		}
		o.declared = declared
	}
	if d&dueResources != 0 {
		err := s.protect("list the resources", func() error {
			resources, err := l.session.Resources(ctx)
			if err == nil {
				o.resources = resources[:min(len(resources), maxResources)]
				var templates []ResourceTemplate
				templates, err = l.session.ResourceTemplates(ctx)
				o.templates = templates[:min(len(templates), maxResources)]
			}
			return err
		})
		s.miss(err, "resources")
	}
	if d&duePrompts != 0 {
		err := s.protect("list the prompts", func() error {
			prompts, err := l.session.Prompts(ctx)
			if err == nil {
				o.prompts = prompts[:min(len(prompts), maxPrompts)]
			}
			return err
		})
		s.miss(err, "prompts")
	}
	return &o, nil
}

// miss takes note of a list that did not come.
func (s *server) miss(err error, what string) {
	if err != nil {
		s.m.o.Logger.Warn("an MCP server does not list its "+what, "server", s.Name, "error", s.mask.hide(err.Error()))
	}
}

// refresh looks at what is due, and tells if anything is not as it was.
func (s *server) refresh(ctx context.Context, l *link) {
	d := l.take()
	if d == 0 {
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.connectTimeout(), errLate)
	defer cancel()
	if d&dueRoots != 0 {
		s.miss(s.protect("tell of other roots", func() error { l.session.RootsChanged(ctx); return nil }), "roots")
	}
	old := s.offered()
	now, err := s.list(ctx, l, d&^dueRoots, old)
	if err != nil {
		s.miss(err, "tools")
		return
	}
	if reflect.DeepEqual(old.declared, now.declared) && reflect.DeepEqual(old.resources, now.resources) &&
		reflect.DeepEqual(old.templates, now.templates) && reflect.DeepEqual(old.prompts, now.prompts) {
		return
	}
	s.declare(now, old)
	s.set(func(*Status) { s.offer = now })
	s.m.tell(s.Name)
}

// request runs a request of a server that is connected or comes back in time. The
// error is that of ctx, a *tools.Defect, or a *fault.Error without secrets; step
// names the request, and what is a noun for what was asked for.
func (s *server) request(ctx context.Context, step, what string, run func(ctx context.Context, session Session) error) error {
	limited, stop := s.limited(ctx)
	defer stop()
	l, err := s.acquire(limited)
	if err == nil {
		err = l.request(limited, func(ctx context.Context) error {
			return s.protect(step, func() error { return run(ctx, l.session) })
		})
	}
	if err == nil {
		return nil
	}
	return s.explain(ctx, what, l, err)
}
