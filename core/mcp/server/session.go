package server

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
	"github.com/fettle-dev/fettle/core/tools"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// kind describes how a client is connected.
type kind struct {
	stateless bool                     // the session is one request
	holder    string                   // digest of the presented token; "": none
	client    string                   // the client for which waiting calls count; "": the session
	gone      <-chan struct{}          // closed when the client of a stateless request has disconnected; nil: never
	resumable bool                     // the client can resume a lost stream
	begun     func(*sdk.ServerSession) // called when the client has identified itself; may be nil
}

// session is one client with its Service, which is created when it is first
// needed. It has an SDK server of its own, so that no state of one client can
// reach another.
type session struct {
	kind
	srv    *Server
	id     string
	sdk    *sdk.Server
	ctx    context.Context // ends with the session
	cancel context.CancelFunc
	slots  chan struct{} // holds a value for each running call

	stalled atomic.Int64 // number of those that wait for answers to requests

	opening chan struct{}  // holds a value while the Service is created, and once the session has ended
	work    sync.WaitGroup // running work for the client
	once    sync.Once      // of end
	failure error          // of end

	mu    sync.Mutex
	refs  int // references to the session; it ends with the last
	svc   *mcpservice.Service
	never error // why there will be no Service
	conn  *sdk.ServerSession
	index map[string]tools.Spec // of tools by each of their names; nil: not built
	news  int                   // number of changes of the tools
	bound string                // the tool whose arguments the SDK has compared with the request's headers
	watch *watcher
	uris  map[string]struct{} // of resources to which the client has subscribed
}

// service returns the Service, and creates it on the first call.
func (s *session) service(ctx context.Context, who *sdk.Implementation) (*mcpservice.Service, error) {
	if svc := s.opened(); svc != nil {
		return svc, nil
	}
	select {
	case s.opening <- struct{}{}:
	case <-ctx.Done():
		return nil, errCancelled
	case <-s.ctx.Done():
		return nil, errEnded
	}
	defer func() { <-s.opening }()
	s.mu.Lock()
	svc, never := s.svc, s.never
	s.mu.Unlock()
	if svc != nil || never != nil {
		return svc, never
	}
	c := Client{}
	if who != nil {
		c.Name, c.Version = who.Name, who.Version
	}
	if !s.stateless {
		c.Session = s.id
	}
	open, cancel := context.WithCancel(s.ctx)
	stop := context.AfterFunc(ctx, cancel)
	svc, err := s.open(open, c)
	if err != nil && s.stateless { // one request is not served twice
		s.mu.Lock()
		s.never = err
		s.mu.Unlock()
	}
	if !stop() && err == nil { // ctx has ended in the meantime, and open with it
		_ = s.close(svc)
		err = errCancelled
	}
	if err != nil {
		cancel()
		return nil, err
	}
	s.mu.Lock()
	s.svc = svc
	s.mu.Unlock()
	return svc, nil
}

// open calls Options.Open. A panic becomes an error.
func (s *session) open(ctx context.Context, c Client) (svc *mcpservice.Service, err error) {
	defer func() {
		if v := recover(); v != nil {
			s.srv.log.Error("opening a service panicked", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			err = errInternal
		}
	}()
	svc, err = s.srv.o.Open(ctx, c)
	switch f := (*fault.Error)(nil); {
	case errors.As(err, &f):
		s.srv.log.Warn("a client cannot be served", "client", c.Name, "error", err)
		return nil, f
	case err != nil:
		s.srv.log.Error("a client cannot be served", "client", c.Name, "error", err)
		return nil, errInternal
	case svc == nil || svc.Tools == nil || svc.Call == nil:
		s.srv.log.Error("a service lacks Tools or Call")
		return nil, errInternal
	}
	return svc, nil
}

// opened returns the Service, or nil if it has not been created.
func (s *session) opened() *mcpservice.Service {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.svc
}

// spec returns the Spec of a tool by one of its names.
func (s *session) spec(svc *mcpservice.Service, name string) (tools.Spec, bool) {
	s.mu.Lock()
	spec, ok := s.index[name]
	news := s.news
	s.mu.Unlock()
	if ok {
		return spec, true
	}
	index := map[string]tools.Spec{}
	for _, t := range svc.Tools() {
		spec := t.Spec()
		for _, alias := range spec.Aliases {
			if _, taken := index[alias]; !taken {
				index[alias] = spec
			}
		}
		index[spec.Name] = spec
	}
	s.mu.Lock()
	if s.watch != nil && s.news == news { // otherwise no notification would invalidate it, or one already has
		s.index = index
	}
	s.mu.Unlock()
	spec, ok = index[name]
	return spec, ok
}

// connected records the SDK's side of the session.
func (s *session) connected(c *sdk.ServerSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn = c
}

// engage registers work that end waits for; the work calls work.Done. It reports
// false if the session has ended.
func (s *session) engage() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.work.Add(1)
	return true
}

// release drops a reference, and ends the session with the last one.
func (s *session) release() {
	s.mu.Lock()
	s.refs--
	last := s.refs == 0
	s.mu.Unlock()
	if last {
		_ = s.end()
	}
}

// end cancels running work, waits for it and closes the Service. It must not be
// called by work that it waits for. The error is that of the Service.
func (s *session) end() error {
	s.once.Do(func() {
		s.mu.Lock()
		s.cancel() // no work is started after this
		s.mu.Unlock()
		s.srv.waiting.clear(s)
		s.mu.Lock()
		conn, watch := s.conn, s.watch
		s.mu.Unlock()
		if conn != nil {
			if err := conn.Close(); err != nil {
				s.srv.log.Debug("closing a session", "error", err)
			}
		}
		s.opening <- struct{}{} // never released: no Service is opened any more
		s.work.Wait()
		watch.stop()
		if svc := s.opened(); svc != nil {
			s.failure = s.close(svc)
		}
		s.srv.forget(s)
	})
	return s.failure
}

// close closes a Service. A panic becomes an error.
func (s *session) close(svc *mcpservice.Service) (err error) {
	if svc.Close == nil {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			s.srv.log.Error("closing a service panicked", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			err = errInternal
		}
		if err != nil {
			s.srv.log.Warn("closing a service failed", "error", err)
		}
	}()
	return svc.Close()
}
