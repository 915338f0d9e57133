// Package wiretest provides test servers that answer like those of providers, byte for byte,
// including broken connections.
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

// Answer is the response of a server to one request.
type Answer struct {
	Status int               // 0: 200
	Header map[string]string // overrides headers; Content-Type is text/event-stream by default
	Body   string

	Bytewise bool // every byte is sent separately
	Cut      bool // the connection breaks after Body
	Unframed bool // the response ends with the connection, so that a broken connection looks like the end
	Hang     bool // nothing follows Body until the client disconnects
}

// Request is a received request.
type Request struct {
	Method, Path, Query string
	Header              http.Header
	Body                []byte
}

// Server answers with one Answer after another, and repeats the last one.
type Server struct {
	URL  string
	Gone chan struct{} // one value for each client that disconnected from an Answer with Hang

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

// Client returns a separate client, whose idle connections end with the test.
func (s *Server) Client() *http.Client { return s.http.Client() }

// Requests returns the requests received so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Last returns the last request; it panics if there is none.
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

// unframed sends a response that has neither a length nor chunks.
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

// Pieces is a transport that answers every request with these bytes; each piece takes a separate
// read.
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
