package server

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Path is the default of [HTTPOptions.Path].
const Path = "/mcp"

// revisionHeader is the header that names the protocol revision of a request.
const revisionHeader = "Mcp-Protocol-Version"

// HTTPOptions configure a handler. The zero value serves all programs of this
// machine, whichever user runs them.
type HTTPOptions struct {
	Path string // "": [Path]; requests to another path receive 404

	// Stateless creates a Service per request, without sessions: no state is kept
	// between requests except calls that wait for answers. It is required for
	// revision 2026-07-28, which has no sessions; without it clients begin a
	// session by initialize.
	Stateless bool

	// Tokens is the set of accepted bearer tokens. A session belongs to the token
	// that began it. Empty: no token is required.
	Tokens []string
	// Hosts and Origins are the names that requests may use in addition to
	// loopback ones: a name, or HOST:PORT; and SCHEME://HOST[:PORT]. Others are
	// refused, so that no web page can reach the server. Cross-origin requests of
	// browsers are not supported.
	Hosts, Origins []string

	// Sessions is the maximum number of concurrent sessions or, with Stateless,
	// of concurrent requests; 0: 1,000. Further ones are refused with a request
	// to retry later.
	Sessions int
	// IdleTime ends a session without open requests in which nothing runs, or
	// only calls that wait for the client's answers; 0: 30 min.
	IdleTime time.Duration
	// ReplayBytes is the size of the buffer of sent messages, over all sessions,
	// for clients that reconnect; 0: 10 MiB; < 0: none.
	ReplayBytes int
}

// handler serves clients over streamable HTTP.
type handler struct {
	srv   *Server
	o     HTTPOptions
	guard *guard
	sdk   *sdk.StreamableHTTPHandler

	mu       sync.Mutex
	sessions map[string]*visit
	waiting  map[string]*visit // by client: asked for a description only, see [handler.keep]
	used     int               // used places: sessions, and requests that may begin one
}

// visit is a session over HTTP.
type visit struct {
	*session
	mu    sync.Mutex
	busy  int // open requests
	round int // number of timers so far: only the last one ends the session
	timer *time.Timer
	gone  bool
	ready chan struct{} // closed once the SDK has forgotten the kept session's request
	after string        // client that has received the description only, see [handler.keep]; "": none
}

// Handler returns a handler for streamable HTTP. Its sessions end by the client's
// DELETE, by [HTTPOptions.IdleTime] and by [Server.Close]; only the latter waits
// for them. Before the shutdown of an http.Server, close the Server: its open
// streams are not idle.
func (s *Server) Handler(o HTTPOptions) http.Handler {
	o.Path = cmp.Or(o.Path, Path)
	setDefault(&o.Sessions, 1000)
	setDefault(&o.IdleTime, 30*time.Minute)
	h := &handler{srv: s, o: o, guard: newGuard(o), sessions: map[string]*visit{}, waiting: map[string]*visit{}}
	so := &sdk.StreamableHTTPOptions{
		Stateless: o.Stateless, Logger: s.sdkLog, MaxRequestBodyBytes: int64(s.o.RequestBytes),
		DisableLocalhostProtection:   true, // the guard's is stricter
		PropagateRequestCancellation: true,
	}
	if o.ReplayBytes >= 0 && !o.Stateless {
		store := sdk.NewMemoryEventStore(nil)
		if o.ReplayBytes > 0 {
			store.SetMaxBytes(o.ReplayBytes)
		}
		so.EventStore = store
	}
	h.sdk = sdk.NewStreamableHTTPHandler(serverOf, so)
	return h
}

type sessionKey struct{}

// serverOf returns the SDK's server of the session that a request belongs to.
func serverOf(r *http.Request) *sdk.Server {
	if s, ok := r.Context().Value(sessionKey{}).(*session); ok {
		return s.sdk
	}
	return nil
}

// ServeHTTP answers one request.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	holder, ok := h.guard.admit(w, r)
	if !ok {
		return
	}
	if r.URL.Path != h.o.Path {
		http.NotFound(w, r)
		return
	}
	switch id := r.Header.Get("Mcp-Session-Id"); {
	case h.o.Stateless:
		h.serveOnce(w, r, holder)
	case id != "":
		h.serveSession(w, r, id, holder)
	default:
		h.serveNew(w, r, holder)
	}
}

// serveSession answers a request of a session.
func (h *handler) serveSession(w http.ResponseWriter, r *http.Request, id, holder string) {
	h.mu.Lock()
	v := h.sessions[id]
	h.mu.Unlock()
	if v == nil || v.holder != holder || !v.enter() {
		http.Error(w, "session not found", http.StatusNotFound)
		return
	}
	defer h.leave(v)
	if r.Method == http.MethodDelete {
		h.end(v)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	// The negotiated revision applies if a request names none or a different one:
	// the SDK trusts the header.
	if requested, agreed := r.Header.Get(revisionHeader), v.revision(); requested == "" || requested < revision2026 && slices.Contains(sdk.SupportedProtocolVersions(), requested) {
		r = r.Clone(r.Context())
		r.Header.Set(revisionHeader, agreed)
	}
	if r.Method == http.MethodPost {
		body, ok := h.body(w, r)
		if !ok || !screen(w, r, body) {
			return
		}
	}
	h.serve(w, r, v.session)
}

// serve passes a request of a session to the SDK.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, s *session) {
	p, done := newPatient(s.ctx, w)
	defer done()
	h.sdk.ServeHTTP(p, r.WithContext(context.WithValue(r.Context(), sessionKey{}, s)))
}

// serveNew answers a request without a session, which may begin one.
func (h *handler) serveNew(w http.ResponseWriter, r *http.Request, holder string) {
	if r.Method != http.MethodPost {
		h.sdk.ServeHTTP(w, r) // refuses it
		return
	}
	body, ok := h.body(w, r)
	if !ok || !begins(w, r, body) || !screen(w, r, body) {
		return
	}
	client, discovers := clientOf(body, holder)
	v := h.take(client)
	if v == nil {
		v = h.newVisit(w, r, holder)
	}
	if v == nil {
		return
	}
	defer h.leave(v)
	kept := discovers && h.keep(v, client) // initialize may come before the end of this request
	if kept {
		defer close(v.ready)
	}
	h.serve(w, r, v.session)
	h.mu.Lock()
	_, begun := h.sessions[v.id]
	h.mu.Unlock()
	switch {
	case begun, kept && v.opened() != nil, kept && !h.withdraw(v, client):
	default:
		h.end(v)
	}
}

// newVisit returns a session of a new client, with a place of its own. nil: it has
// answered that none is free.
func (h *handler) newVisit(w http.ResponseWriter, r *http.Request, holder string) *visit {
	if !h.reserve(w) {
		return nil
	}
	v := &visit{busy: 1}
	v.session = h.srv.begin(r.Context(), kind{
		holder: holder, resumable: h.o.ReplayBytes >= 0,
		begun: func(c *sdk.ServerSession) {
			if !h.add(v) {
				return
			}
			go func() { // ends the session when its connection ends in the SDK
				_ = c.Wait()
				h.end(v)
			}()
		},
	})
	if v.session == nil {
		h.unreserve()
		unavailable(w)
		return nil
	}
	v.acceptRefused()
	context.AfterFunc(v.ctx, func() { h.end(v) }) // including an end by the Server
	return v
}

// serveOnce answers a request with a Service of its own.
func (h *handler) serveOnce(w http.ResponseWriter, r *http.Request, holder string) {
	var body []byte
	if r.Method == http.MethodPost {
		var ok bool
		if body, ok = h.body(w, r); !ok || !screen(w, r, body) {
			return
		}
	}
	if !h.reserve(w) {
		return
	}
	defer h.unreserve()
	client := cmp.Or(holder, r.RemoteAddr)
	s := h.srv.begin(r.Context(), kind{stateless: true, holder: holder, client: client, gone: r.Context().Done()})
	if s == nil {
		unavailable(w)
		return
	}
	defer s.release()
	s.acceptRefused()
	s.declareCalled(r, body)
	h.serve(w, r, s)
}

// reserve reserves a place for a session, or answers that none is free.
func (h *handler) reserve(w http.ResponseWriter) bool {
	h.freeWaiting()
	h.mu.Lock()
	full := h.used >= h.o.Sessions
	if !full {
		h.used++
	}
	h.mu.Unlock()
	if full {
		unavailable(w)
	}
	return !full
}

func (h *handler) unreserve() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.used--
}

// unavailable asks a client to retry later.
func unavailable(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "5")
	http.Error(w, "Service Unavailable: the server accepts no further client at the moment.", http.StatusServiceUnavailable)
}

// add registers a session under its ID. It reports false if the session has
// already ended.
func (h *handler) add(v *visit) bool {
	v.mu.Lock() // as in end, which removes registered sessions
	defer v.mu.Unlock()
	if v.gone {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sessions[v.id] = v
	return true
}

// end ends a session and frees its place.
func (h *handler) end(v *visit) {
	v.mu.Lock()
	first, client := !v.gone, v.after
	v.gone = true
	if v.timer != nil {
		v.timer.Stop()
	}
	v.mu.Unlock()
	if first {
		h.mu.Lock()
		delete(h.sessions, v.id)
		if h.waiting[client] == v {
			delete(h.waiting, client)
		}
		h.used--
		h.mu.Unlock()
	}
	_ = v.session.end()
}

// enter counts a request of the session. It reports false if the session has
// ended.
func (v *visit) enter() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.gone {
		return false
	}
	v.busy++
	return true
}

// leave counts the end of a request. The session ends when no request arrives for
// a while.
func (h *handler) leave(v *visit) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.busy--
	if v.gone || v.busy > 0 {
		return
	}
	idle := h.o.IdleTime
	if v.after != "" {
		idle = min(idle, discoverTime)
	}
	h.expireAfter(v, idle)
}

// expireAfter starts the timer of an idle session. The caller holds v.mu.
func (h *handler) expireAfter(v *visit, idle time.Duration) {
	if v.timer != nil {
		v.timer.Stop()
	}
	v.round++
	round := v.round
	v.timer = time.AfterFunc(idle, func() { h.expire(v, round) })
}

// expire ends an idle session, or checks again later.
func (h *handler) expire(v *visit, round int) {
	v.mu.Lock()
	idle := !v.gone && v.busy == 0 && v.round == round && (v.after == "" || h.withdraw(v, v.after))
	// A disconnected client may reconnect for the answers of its calls. But calls
	// that wait for the client would wait without end: they do not keep the
	// session.
	if idle && int64(len(v.slots)) > v.stalled.Load() {
		idle = false
		h.expireAfter(v, h.o.IdleTime)
	}
	v.mu.Unlock()
	if idle {
		h.end(v)
	}
}
