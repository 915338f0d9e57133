package server

import (
	"context"
	"sync"

	"github.com/fettle-dev/fettle/core/mcp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxSubscriptions bounds the resources that one client may wait for.
const maxSubscriptions = 1000

// watcher tells a client of changes. Those that come while it is telling are
// told together.
type watcher struct {
	s       *session
	kick    chan struct{}
	done    chan struct{}
	unwatch func()

	mu      sync.Mutex
	pending mcp.Change
	updated map[string]struct{}
}

// startWatch begins to tell the client of changes, once.
func (s *session) startWatch(svc *mcp.Service) {
	if svc.Watch == nil {
		return
	}
	w := &watcher{s: s, kick: make(chan struct{}, 1), done: make(chan struct{})}
	w.unwatch = svc.Watch(w.changed)
	s.mu.Lock()
	needed := s.watch == nil && s.ctx.Err() == nil
	if needed {
		s.watch = w
		s.news++ // what was read before may have changed unseen
		s.index = nil
	}
	s.mu.Unlock()
	if !needed {
		w.unwatch() // without the lock: changed takes it, and the Service may wait for that
		return
	}
	go w.run(s.ctx)
}

// changed notes a change. It does not block.
func (w *watcher) changed(c mcp.Change) {
	w.mu.Lock()
	w.pending.Tools = w.pending.Tools || c.Tools
	w.pending.Resources = w.pending.Resources || c.Resources
	w.pending.Prompts = w.pending.Prompts || c.Prompts
	if c.Resource != "" {
		if w.updated == nil {
			w.updated = map[string]struct{}{}
		}
		w.updated[c.Resource] = struct{}{}
	}
	w.mu.Unlock()
	if c.Tools {
		w.s.mu.Lock()
		w.s.news++
		w.s.index = nil
		w.s.mu.Unlock()
	}
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

// run tells of changes until ctx ends.
func (w *watcher) run(ctx context.Context) {
	defer close(w.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.kick:
		}
		w.mu.Lock()
		c, updated := w.pending, w.updated
		w.pending, w.updated = mcp.Change{}, nil
		w.mu.Unlock()
		w.s.announce(c)
		for uri := range updated {
			if err := w.s.sdk.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
				w.s.srv.log.Debug("telling of a resource", "error", err)
			}
		}
	}
}

// announce has the SDK say that lists have changed. It does so when something is
// added, and in no other way; what it is given for that is on no list, for
// those are answered by the Service.
func (s *session) announce(c mcp.Change) {
	if c.Tools {
		s.sdk.AddTool(&sdk.Tool{Name: "changed", InputSchema: anyObject}, nil)
	}
	if c.Prompts {
		s.sdk.AddPrompt(&sdk.Prompt{Name: "changed"}, nil)
	}
	if c.Resources {
		s.sdk.AddResource(&sdk.Resource{Name: "changed", URI: "fettle:changed"}, nil)
	}
}

// stop ends the watch and waits for it. A nil watcher is none.
func (w *watcher) stop() {
	if w == nil {
		return
	}
	<-w.done // the session's ctx has ended
	w.unwatch()
}

// subscribe notes that the client waits for a resource; the SDK tells it.
func (s *session) subscribe(uri string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.uris[uri]; !ok && len(s.uris) >= maxSubscriptions {
		return errInvalid("There are too many subscriptions of this client; unsubscribe from some.")
	}
	if s.uris == nil {
		s.uris = map[string]struct{}{}
	}
	s.uris[uri] = struct{}{}
	return nil
}

// unsubscribe takes it back.
func (s *session) unsubscribe(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.uris, uri)
}
