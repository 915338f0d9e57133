package server

import (
	"context"
	"sync"

	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxSubscriptions is the maximum number of resources to which one client may
// subscribe.
const maxSubscriptions = 1000

// watcher notifies a client of changes. Changes that occur during a notification
// are combined into the next one.
type watcher struct {
	s       *session
	kick    chan struct{}
	done    chan struct{}
	unwatch func()

	mu      sync.Mutex
	pending mcp.Change
	updated map[string]struct{}
}

// startWatch begins to notify the client of changes, once.
func (s *session) startWatch(svc *mcpservice.Service) {
	if svc.Watch == nil {
		return
	}
	w := &watcher{s: s, kick: make(chan struct{}, 1), done: make(chan struct{})}
	w.unwatch = svc.Watch(w.changed)
	s.mu.Lock()
	needed := s.watch == nil && s.ctx.Err() == nil
	if needed {
		s.watch = w
		s.news++ // the tools may have changed unseen since the index was built
		s.index = nil
	}
	s.mu.Unlock()
	if !needed {
		w.unwatch() // without the lock: changed acquires it, and the Service may wait for changed
		return
	}
	go w.run(s.ctx)
}

// changed records a change. It does not block.
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

// run sends notifications until ctx ends.
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
				w.s.srv.log.Debug("notification of a resource", "error", err)
			}
		}
	}
}

// announce makes the SDK notify the client that lists have changed. The SDK does
// so only when an entry is added; the entries added here are on no list, because
// the Service answers list requests.
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

// stop ends the watch and waits for it. It does nothing for a nil watcher.
func (w *watcher) stop() {
	if w == nil {
		return
	}
	<-w.done // the session's ctx has ended
	w.unwatch()
}

// subscribe records a subscription of the client to a resource; the SDK sends the
// notifications.
func (s *session) subscribe(uri string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.uris[uri]; !ok && len(s.uris) >= maxSubscriptions {
		return errInvalid("This client has too many subscriptions; unsubscribe from some.")
	}
	if s.uris == nil {
		s.uris = map[string]struct{}{}
	}
	s.uris[uri] = struct{}{}
	return nil
}

// unsubscribe removes a subscription.
func (s *session) unsubscribe(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.uris, uri)
}
