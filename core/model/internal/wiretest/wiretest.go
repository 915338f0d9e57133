// Package wiretest has servers that answer like those of providers, down to the
// bytes and to where they break off. It is for tests alone.
package wiretest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Answer is what a server sends for one request.
type Answer struct {
	Status int               // 0: 200
	Header map[string]string // Content-Type is text/event-stream unless it is here
	Body   string

	Bytewise bool // each byte is sent on its own
	Cut      bool // the connection breaks after Body
	Unframed bool // the end of the answer is that of the connection, so that a cut looks like an end
	Hang     bool // after Body nothing comes until the client goes
}

// Request is what came.
type Request struct {
	Method, Path, Query string
	Header              http.Header
	Body                []byte
}

// Server answers with one Answer after the other, with the last for ever.
type Server struct {
	URL  string
	Gone chan struct{} // one for each client that left an Answer that hangs

	mu       sync.Mutex
	answers  []Answer
	requests []Request
	http     *httptest.Server
}

// Serve starts a server that ends with the test.
func Serve(t testing.TB, answers ...Answer) *Server {
	s := &Server{answers: answers, Gone: make(chan struct{}, 100)}
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL
	t.Cleanup(s.http.Close)
	return s
}

// Client returns a client of its own, whose idle connections end with the test.
func (s *Server) Client() *http.Client { return s.http.Client() }

// Requests returns what has come so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Last returns the last request; it panics if none has come.
func (s *Server) Last() Request {
	all := s.Requests()
	return all[len(all)-1]
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	a := s.answers[min(len(s.requests), len(s.answers)-1)]
	s.requests = append(s.requests, Request{r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Clone(), body})
	s.mu.Unlock()

	if a.Unframed {
		unframed(w, a)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for k, v := range a.Header {
		w.Header().Set(k, v)
	}
	if a.Status != 0 {
		w.WriteHeader(a.Status)
	}
	flush := w.(http.Flusher).Flush
	if a.Bytewise {
		for i := range len(a.Body) {
			_, _ = io.WriteString(w, a.Body[i:i+1])
			flush()
		}
	} else {
		_, _ = io.WriteString(w, a.Body)
		flush()
	}
	switch {
	case a.Hang:
		<-r.Context().Done()
		s.Gone <- struct{}{}
	case a.Cut:
		panic(http.ErrAbortHandler)
	}
}

// unframed sends an answer that has neither a length nor chunks.
func unframed(w http.ResponseWriter, a Answer) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	kind := "text/event-stream"
	if k, ok := a.Header["Content-Type"]; ok {
		kind = k
	}
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nConnection: close\r\n\r\n%s", kind, a.Body)
}

// Pieces is a transport that answers every request with these bytes, each piece
// with a read of its own.
type Pieces [][]byte

// RoundTrip implements http.RoundTripper.
func (p Pieces) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	readers := make([]io.Reader, len(p))
	for i, piece := range p {
		readers[i] = bytes.NewReader(piece)
	}
	return &http.Response{
		StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Request: r, ContentLength: -1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(io.MultiReader(readers...)),
	}, nil
}
