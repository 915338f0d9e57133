package oauth

import (
	"cmp"
	"context"
	"crypto/subtle"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/mcp"
)

// answer is the authorization response: the parameters with which the
// authorization server redirects the user's browser back.
type answer struct{ code, issuer, problem string }

// listener waits on this machine for the authorization response of one sign-in.
type listener struct {
	redirect string // its address, as sent to the authorization server
	path     string
	answers  chan answer // buffered for one value
	server   *http.Server
	served   chan struct{} // closed when server has ended

	mu    sync.Mutex
	state string // of the sign-in; "": none is expected
}

// closeLimit bounds how long an unfinished page may delay the end.
const closeLimit = 2 * time.Second

// listen opens the listener, at the address with which the client is registered
// if that is free. close ends it.
func (s *Service) listen(ctx context.Context, spec mcp.ServerSpec, before *entry) (*listener, error) {
	where, err := redirectOf(spec)
	if err != nil {
		return nil, err
	}
	ports := []string{where.Port()}
	if ports[0] == "" {
		ports[0] = "0"
		if before != nil && before.Registered {
			if u, err := url.Parse(before.RedirectURI); err == nil && u.Hostname() == where.Hostname() && u.Port() != "" {
				ports = []string{u.Port(), "0"}
			}
		}
	}
	host := "127.0.0.1"
	if ip := net.ParseIP(where.Hostname()); ip != nil {
		host = ip.String()
	}
	var socket net.Listener
	for _, port := range ports {
		if socket, err = new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, port)); err == nil {
			break
		}
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, cancelled(ctx, spec.Name)
		}
		return nil, unusable(spec.Name, "the port "+ports[0]+" of this machine, to which the browser is redirected, cannot be opened.",
			"Free the port, or set another one in oauth.redirectUri.")
	}
	l := &listener{redirect: withPort(where, socket.Addr()), path: where.Path, answers: make(chan answer, 1), served: make(chan struct{})}
	l.path = cmp.Or(l.path, "/")
	l.server = &http.Server{
		Handler: l, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 32 << 10,
		ErrorLog: log.New(discard{}, "", 0), // the default is stderr
	}
	l.server.SetKeepAlivesEnabled(false)
	go func() {
		defer close(l.served)
		_ = l.server.Serve(socket) // ends with close
	}()
	return l, nil
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// expect makes the listener accept the response with the given state.
func (l *listener) expect(state string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = state
}

// close ends the listener and its open requests.
func (l *listener) close(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer stop()
	_ = l.server.Shutdown(ctx) // lets the page be sent
	_ = l.server.Close()
	<-l.served
}

// ServeHTTP accepts the first response with the expected state and refuses all
// others.
func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer") // the address contains the code
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	if r.URL.Path != l.path || r.Method != http.MethodGet {
		w.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprintln(w, "This page does not exist.")
		return
	}
	if host, _, err := net.SplitHostPort(r.Host); err != nil || !local(host) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintln(w, "This address is not meant for other machines.")
		return
	}
	q := r.URL.Query()
	if !l.take(q.Get("state")) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintln(w, "This is not the sign-in that fettle waits for. Start it again.")
		return
	}
	if q.Get("error") != "" {
		_, _ = fmt.Fprintln(w, "You were not signed in. fettle reports the reason; you can close this page.")
	} else {
		_, _ = fmt.Fprintln(w, "Thank you. fettle finishes the sign-in; you can close this page.")
	}
	l.answers <- answer{code: q.Get("code"), issuer: q.Get("iss"), problem: q.Get("error")}
}

// take reports whether state is the expected one, and clears it.
func (l *listener) take(state string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == "" || subtle.ConstantTimeCompare([]byte(state), []byte(l.state)) != 1 {
		return false
	}
	l.state = ""
	return true
}
