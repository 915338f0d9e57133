package server

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// patience is how long one write may wait for a client that does not read.
const patience = time.Minute

// patient is a response whose writes end: after a while, and with the session.
type patient struct {
	http.ResponseWriter
	c   *http.ResponseController
	ctx context.Context

	mu   sync.Mutex
	over bool // the response is, or the session
}

// newPatient returns a patient response; done gives the connection back as it was.
// Where the connection knows no deadlines, a write waits as long as it takes.
func newPatient(ctx context.Context, w http.ResponseWriter) (p *patient, done func()) {
	p = &patient{ResponseWriter: w, c: http.NewResponseController(w), ctx: ctx}
	stop := context.AfterFunc(ctx, func() { p.finish(time.Unix(1, 0)) })
	return p, func() {
		stop()
		p.mu.Lock()
		p.over = false
		p.mu.Unlock()
		p.finish(time.Time{})
	}
}

// finish sets the last deadline.
func (p *patient) finish(deadline time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.over = true
		_ = p.c.SetWriteDeadline(deadline)
	}
}

// extend gives the next write its time.
func (p *patient) extend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		_ = p.c.SetWriteDeadline(time.Now().Add(patience))
	}
}

// Write writes while there is time.
func (p *patient) Write(b []byte) (int, error) {
	p.extend()
	return p.ResponseWriter.Write(b)
}

// FlushError likewise; http.ResponseController calls it.
func (p *patient) FlushError() error {
	p.extend()
	return p.c.Flush()
}

// Unwrap is for http.ResponseController.
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }
