package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Path is where a handler is spoken to, where [HTTPOptions.Path] does not say
// otherwise.
const Path = "/mcp"

// revisionHeader is where a request says which revision of the protocol it is of.
const revisionHeader = "Mcp-Protocol-Version"

// HTTPOptions say how a handler is spoken to. The zero value serves programs of
// this machine, whoever runs them.
type HTTPOptions struct {
	Path string // "": [Path]; another path is not found

	// Stateless makes a Service for each request, with no session: nothing is kept
	// from one to the next but calls that wait for answers. Revision 2026-07-28 is
	// spoken so, and only so; without it clients begin a session by initialize.
	Stateless bool

	// Tokens, of which a request has to bear one. A session belongs to the token it
	// was begun with. None: nobody is asked for a token.
	Tokens []string
	// Hosts and Origins that requests may name beside loopback ones: a name, or
	// HOST:PORT; and SCHEME://HOST[:PORT]. Others are refused, so that no web page
	// can reach the server. Cross-origin requests of browsers are not supported.
	Hosts, Origins []string

	// Sessions at once, or requests at once where Stateless; 0: 1,000. More are
	// refused and asked to try again later.
	Sessions int
	// IdleTime ends a session that no request is open of and nothing runs in, or only
	// calls that wait for the client's answers; 0: 30 min.
	IdleTime time.Duration
	// ReplayBytes are kept of what was sent, over all sessions, for clients that
	// have lost their connection; 0: 10 MiB; < 0: none.
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
	used     int // places that are taken: sessions, and requests that may become one
}

// visit is a session over HTTP.
type visit struct {
	*session
	mu    sync.Mutex
	busy  int // open requests
	timer *time.Timer
	gone  bool
}

// Handler returns a handler of streamable HTTP. Its sessions end by the client's
// DELETE, by [HTTPOptions.IdleTime] and by [Server.Close], which alone waits for
// them. For an http.Server that is shut down: close the Server first, since its
// open streams are not idle.
func (s *Server) Handler(o HTTPOptions) http.Handler {
	o.Path = cmp.Or(o.Path, Path)
	setDefault(&o.Sessions, 1000)
	setDefault(&o.IdleTime, 30*time.Minute)
	h := &handler{srv: s, o: o, guard: newGuard(o), sessions: map[string]*visit{}}
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
	// What was agreed on counts, where a request says nothing of it or is of another
	// revision: the SDK goes by the header.
	if said, agreed := r.Header.Get(revisionHeader), v.revision(); said == "" || said < revision2026 && slices.Contains(sdk.SupportedProtocolVersions(), said) {
		r = r.Clone(r.Context())
		r.Header.Set(revisionHeader, agreed)
	}
	h.serve(w, r, v.session)
}

// serve has the SDK answer a request of a session.
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
	if !ok || !begins(w, r, body) || !h.reserve(w) {
		return
	}
	v := &visit{busy: 1}
	v.session = h.srv.begin(r.Context(), kind{
		holder: holder, resumable: h.o.ReplayBytes >= 0,
		begun: func(c *sdk.ServerSession) {
			if !h.add(v) {
				return
			}
			go func() { // whatever ends the SDK's end of it, ends it
				_ = c.Wait()
				h.end(v)
			}()
		},
	})
	if v.session == nil {
		h.unreserve()
		unavailable(w)
		return
	}
	context.AfterFunc(v.ctx, func() { h.end(v) }) // also where the Server ends it
	defer h.leave(v)
	h.serve(w, r, v.session)
	h.mu.Lock()
	_, begun := h.sessions[v.id]
	h.mu.Unlock()
	if !begun {
		h.end(v)
	}
}

// serveOnce answers a request with a Service of its own.
func (h *handler) serveOnce(w http.ResponseWriter, r *http.Request, holder string) {
	var body []byte
	if r.Method == http.MethodPost {
		var ok bool
		if body, ok = h.body(w, r); !ok {
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
	s.declareCalled(r, body)
	h.serve(w, r, s)
}

// body reads a request's body, before anything is kept for it: one that never
// ends holds nothing but its connection. It reports false where it has answered
// the request.
func (h *handler) body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(h.srv.o.RequestBytes)))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		http.Error(w, "the request's body is too large", http.StatusRequestEntityTooLarge)
		return nil, false
	}
	if err != nil {
		http.Error(w, "the request's body cannot be read", http.StatusBadRequest)
		return nil, false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, true
}

// begins refuses calls that need a session and name none; what else does not
// begin one the SDK refuses.
func begins(w http.ResponseWriter, r *http.Request, body []byte) bool {
	m, err := jsonrpc.DecodeMessage(body)
	call, ok := m.(*jsonrpc.Request)
	if err != nil || !ok || !call.IsCall() || r.Header.Get(revisionHeader) >= revision2026 {
		return true
	}
	switch call.Method {
	case "initialize", "server/discover", "ping":
		return true
	}
	text, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: call.ID, Error: errNoSession})
	if err != nil {
		http.Error(w, errNoSession.Message, http.StatusBadRequest)
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(text)
	return false
}

// reserve takes a place for a session, or answers that there is none.
func (h *handler) reserve(w http.ResponseWriter) bool {
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

// unavailable asks a client to come back later.
func unavailable(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "5")
	http.Error(w, "Service Unavailable: the server has no place for another client at the moment.", http.StatusServiceUnavailable)
}

// add makes a session one that requests can name; false: it has ended meanwhile.
func (h *handler) add(v *visit) bool {
	v.mu.Lock() // as end has it, which takes out what is in
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
	first := !v.gone
	v.gone = true
	if v.timer != nil {
		v.timer.Stop()
	}
	v.mu.Unlock()
	if first {
		h.mu.Lock()
		delete(h.sessions, v.id)
		h.used--
		h.mu.Unlock()
	}
	_ = v.session.end()
}

// enter counts a request of the session; false: it has ended.
func (v *visit) enter() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.gone {
		return false
	}
	v.busy++
	return true
}

// leave counts a request out. The session ends when none has come for a while.
func (h *handler) leave(v *visit) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.busy--
	if v.gone || v.busy > 0 {
		return
	}
	if v.timer != nil {
		v.timer.Stop()
	}
	v.timer = time.AfterFunc(h.o.IdleTime, func() { h.expire(v) })
}

// expire ends a session that is idle, or looks again later.
func (h *handler) expire(v *visit) {
	v.mu.Lock()
	idle := !v.gone && v.busy == 0
	// A client that has hung up may come back for the answers of its calls. But those
	// that wait for its own would wait for ever: they are no reason to keep it.
	if idle && int64(len(v.slots)) > v.stalled.Load() {
		idle = false
		v.timer = time.AfterFunc(h.o.IdleTime, func() { h.expire(v) })
	}
	v.mu.Unlock()
	if idle {
		h.end(v)
	}
}
