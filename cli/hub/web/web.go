// Package web serves the page of a hub: jobs and sessions as they change, the open questions with
// all their answers, and a time line of each job whose changes can be undone. The page works
// without a script; a script of one file replaces its main part when something has changed. The
// package does not run jobs, and makes no decision about a call.
//
// A user signs in with a token. Each form contains a token of the sign-in against forgery, and each
// answer the digest of the question as it was displayed. Text of models, files and users is never
// markup: html/template escapes it, and hidden characters are shown.
package web

import (
	"context"
	"crypto/subtle"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fettle-dev/fettle/cli/hub/keys"
	"github.com/fettle-dev/fettle/cli/hub/natsbus"
	"github.com/fettle-dev/fettle/cli/hub/service"
	"github.com/fettle-dev/fettle/core/bus"
	mcp "github.com/fettle-dev/fettle/core/mcp/server"
)

//go:embed static pages.html
var files embed.FS

const (
	cookieName = "fettle_hub"
	signedIn   = 12 * time.Hour
	maxForm    = 9 << 20 // bytes of a form: an edited file
	maxStreams = 200     // pages that follow changes at once
	maxSignIns = 10_000
	failures   = 10 // failed sign-ins in a minute; then all are refused for the rest of it
)

// Options configure [New]. NC, Service and Users are required.
type Options struct {
	NC      *nats.Conn // with all permissions
	Service *service.Service
	Users   func() ([]keys.User, error)
	Hosts   []string // accepted hosts in addition to loopback ones
	TLS     bool     // the page is served over TLS
	Now     func() time.Time
}

// Site is the page.
type Site struct {
	o      Options
	pages  *template.Template
	viewer *natsbus.Viewer
	state  *state

	mu      sync.Mutex
	signIns map[string]*signIn // by the value of the cookie
	failed  int                // sign-ins since minute
	minute  time.Time
	streams int
}

// signIn is a user who has signed in.
type signIn struct {
	user  string
	hash  string // of the token that was used; another one ends the sign-in
	csrf  string
	until time.Time
}

// New returns the page. The caller calls Close.
func New(ctx context.Context, o Options) (*Site, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Site{o: o, state: newState(o.Now), signIns: map[string]*signIn{}}
	var err error
	if s.pages, err = template.New("").Funcs(functions()).ParseFS(files, "pages.html"); err != nil {
		return nil, fmt.Errorf("web: pages: %w", err)
	}
	if s.viewer, err = natsbus.Watch(ctx, o.NC, natsbus.WatchOptions{Event: s.state.event, Question: s.state.question, Settled: s.state.settled}); err != nil {
		return nil, fmt.Errorf("web: watch the sessions: %w", err)
	}
	return s, nil
}

// Close ends the page and its streams.
func (s *Site) Close() error {
	s.state.close()
	return s.viewer.Close()
}

// Handler returns the handler of the page.
func (s *Site) Handler() http.Handler {
	mux := http.NewServeMux()
	static, _ := fs.Sub(files, "static") // it is embedded
	mux.Handle("GET /static/", http.StripPrefix("/static/", http.FileServerFS(static)))
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, _ *http.Request) {
		s.render(w, http.StatusOK, "login", view{Title: "Sign in"})
	})
	mux.HandleFunc("POST /login", s.login)
	for pattern, handle := range map[string]func(http.ResponseWriter, *http.Request, visitor){
		"GET /{$}":               s.home,
		"GET /jobs/{id}":         s.job,
		"GET /question/{digest}": s.question,
		"GET /changes":           s.changes,
		"POST /answer":           s.answer,
		"POST /submit":           s.submit,
		"POST /cancel":           s.cancel,
		"POST /restore":          s.restore,
		"POST /logout":           s.logout,
	} {
		mux.HandleFunc(pattern, s.authorized(handle))
	}
	guarded := mcp.HTTPOptions{Hosts: s.o.Hosts}.Guard(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin") // with no-referrer, browsers send forms with the origin null
		h.Set("Cache-Control", "no-store")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		guarded.ServeHTTP(w, r)
	})
}

// visitor is the user of a request.
type visitor struct {
	keys.User
	cookie string
	csrf   string
}

// may reports whether the user has one of some roles, or is an administrator.
func (v visitor) may(roles ...keys.Role) bool {
	for _, r := range append(roles, keys.Admin) {
		if v.Has(r) {
			return true
		}
	}
	return false
}

// Answers reports whether the user may answer questions.
func (v visitor) Answers() bool { return v.may(keys.Approver) }

// Submits reports whether the user may submit, cancel and restore.
func (v visitor) Submits() bool { return v.may(keys.Submitter) }

// authorized calls handle for a user who has signed in. A changing request requires the token of
// the sign-in.
func (s *Site) authorized(handle func(http.ResponseWriter, *http.Request, visitor)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := s.visitorOf(r)
		if err != nil {
			if r.Method == http.MethodGet && r.URL.Path != "/changes" {
				http.Redirect(w, r, "/login", http.StatusSeeOther)
				return
			}
			s.fail(w, http.StatusUnauthorized, "Sign in first.")
			return
		}
		if r.Method != http.MethodGet {
			if err := r.ParseForm(); err != nil {
				s.fail(w, http.StatusBadRequest, "The form cannot be read, or is too large.")
				return
			}
			if subtle.ConstantTimeCompare([]byte(r.PostForm.Get("csrf")), []byte(v.csrf)) != 1 {
				s.fail(w, http.StatusForbidden, "The form is not of this sign-in. Open the page again.")
				return
			}
		}
		handle(w, r, v)
	}
}

var errNotSignedIn = errors.New("web: not signed in")

func (s *Site) visitorOf(r *http.Request) (visitor, error) {
	c, err := r.Cookie(cookieName)
	if err != nil {
		return visitor{}, errNotSignedIn
	}
	s.mu.Lock()
	one := s.signIns[c.Value]
	if one != nil && !s.o.Now().Before(one.until) {
		delete(s.signIns, c.Value)
		one = nil
	}
	s.mu.Unlock()
	if one == nil {
		return visitor{}, errNotSignedIn
	}
	users, err := s.o.Users()
	for _, u := range users {
		if err == nil && u.Name == one.user && u.Token == one.hash {
			return visitor{User: u, cookie: c.Value, csrf: one.csrf}, nil
		}
	}
	return visitor{}, errNotSignedIn
}

// slow reports whether too many sign-ins have failed. s.mu is held.
func (s *Site) slow() bool {
	if now := s.o.Now(); now.Sub(s.minute) >= time.Minute {
		s.minute, s.failed = now, 0
	}
	return s.failed >= failures
}

func (s *Site) login(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		s.fail(w, http.StatusBadRequest, "The form cannot be read.")
		return
	}
	s.mu.Lock()
	slow := s.slow()
	s.mu.Unlock()
	if slow {
		s.render(w, http.StatusTooManyRequests, "login", view{Title: "Sign in", Problem: "Too many sign-ins have failed. Wait a minute."})
		return
	}
	users, err := s.o.Users()
	if err != nil {
		s.fail(w, http.StatusInternalServerError, "The users cannot be read.")
		return
	}
	u, ok := keys.ByToken(users, strings.TrimSpace(r.PostForm.Get("token")))
	if !ok || u.Has(keys.Worker) {
		s.mu.Lock()
		s.failed++
		s.mu.Unlock()
		s.render(w, http.StatusForbidden, "login", view{Title: "Sign in", Problem: "The token is unknown. fettle-hub keys token creates a new one."})
		return
	}
	one := &signIn{user: u.Name, hash: u.Token, csrf: bus.NewID(), until: s.o.Now().Add(signedIn)}
	id := bus.NewID()
	s.mu.Lock()
	for old, in := range s.signIns {
		if len(s.signIns) >= maxSignIns || !s.o.Now().Before(in.until) {
			delete(s.signIns, old)
		}
	}
	s.signIns[id] = one
	s.mu.Unlock()
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: id, Path: "/", HttpOnly: true, Secure: s.o.TLS, SameSite: http.SameSiteStrictMode, MaxAge: int(signedIn.Seconds())})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (s *Site) logout(w http.ResponseWriter, r *http.Request, v visitor) {
	s.mu.Lock()
	delete(s.signIns, v.cookie)
	s.mu.Unlock()
	http.SetCookie(w, &http.Cookie{Name: cookieName, Path: "/", HttpOnly: true, Secure: s.o.TLS, SameSite: http.SameSiteStrictMode, MaxAge: -1})
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// changes tells the page when something has changed, as server-sent events.
func (s *Site) changes(w http.ResponseWriter, r *http.Request, _ visitor) {
	s.mu.Lock()
	full := s.streams >= maxStreams
	if !full {
		s.streams++
	}
	s.mu.Unlock()
	if full {
		s.fail(w, http.StatusServiceUnavailable, "Too many pages are open.")
		return
	}
	defer func() {
		s.mu.Lock()
		s.streams--
		s.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	alive := time.NewTicker(15 * time.Second)
	defer alive.Stop()
	const text = "event: change\ndata: {}\n\n"
	for { // the first event is for what has changed between the page and its stream, or while it was broken
		changed := s.state.changed()
		if _, err := fmt.Fprint(w, text); err != nil || flush.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-s.state.done:
			return
		case <-changed:
		case <-alive.C: // jobs change without an event of a session
		}
		if _, err := s.visitorOf(r); err != nil {
			return // signed out
		}
	}
}
