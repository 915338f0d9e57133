package mcp

import (
	"context"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/tools"
)

// Limits on what a server asks the person.
const (
	maxQuestion       = 4 << 10  // bytes of its text; what is longer is cut
	maxQuestionSchema = 64 << 10 // bytes; one with more is not put
	maxQuestionURL    = 4 << 10  // bytes of a page's address, and of its id, likewise
	maxWaiting        = 8        // questions that wait for the one that is open; more are not put
)

// How long a person has.
const (
	questionTime = 10 * time.Minute // to answer one question
	longestStill = 30 * time.Minute // that the clock of one request may stand still in all
)

// questions are those that one server asks the person, one at a time.
type questions struct {
	turn chan struct{} // holds one while a question is open

	mu     sync.Mutex
	number int // open and waiting
	clocks map[*clock]bool
}

func newQuestions() *questions {
	return &questions{turn: make(chan struct{}, 1), clocks: make(map[*clock]bool)}
}

// begin takes note of a question, and stops the clocks of the requests that run:
// it may be of any of them. Not ok: there are too many already.
func (q *questions) begin() (end func(), ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.number > maxWaiting {
		return nil, false
	}
	q.number++
	var stopped []*clock
	for c := range q.clocks {
		c.stop()
		stopped = append(stopped, c)
	}
	return sync.OnceFunc(func() {
		q.mu.Lock()
		q.number--
		q.mu.Unlock()
		for _, c := range stopped {
			c.resume()
		}
	}), true
}

// elicit puts a question of a server's to the person, and says cancel where that
// cannot be.
func (s *server) elicit(ctx context.Context, l *link, e tools.Elicitation) (answer tools.Elicited, err error) {
	answer.Action = tools.ElicitCancel
	refuse := func(why string) (tools.Elicited, error) {
		s.m.o.Logger.Warn("a question of an MCP server is not put", "server", s.Name, "why", why)
		return answer, nil
	}
	switch {
	case s.connection() != l:
		return refuse("the server is not connected")
	case len(e.Schema) > maxQuestionSchema:
		return refuse("its form is too large")
	case len(e.URL) > maxQuestionURL, len(e.ID) > maxQuestionURL:
		return refuse("its address is too long")
	}
	e.Message = escape.ClipBytes(e.Message, maxQuestion)
	end, ok := s.questions.begin()
	if !ok {
		return refuse("too many wait for an answer")
	}
	defer end()
	err = l.request(ctx, func(ctx context.Context) error {
		select {
		case s.questions.turn <- struct{}{}:
			defer func() { <-s.questions.turn }()
		case <-ctx.Done():
			return ctx.Err()
		}
		ctx, cancel := context.WithTimeout(ctx, questionTime)
		defer cancel()
		defer context.AfterFunc(ctx, end)() // though whoever asks may not heed ctx
		return s.protect("ask the person", func() (err error) {
			answer, err = s.m.o.Elicit(ctx, s.Name, e)
			return err
		})
	})
	return answer, err
}

// clock ends a request with errLate when the request's time is over. It stands
// still while a question is open that the server has asked since the request began,
// but no longer than longestStill in all.
type clock struct {
	cancel context.CancelCauseFunc

	mu        sync.Mutex
	left      time.Duration // of the request's time
	still     time.Duration // that the clock may yet stand still
	questions int           // for which it is stopped
	since     time.Time     // of the last change from one to the other
	due       time.Time     // when timer fires
	timer     *time.Timer
}

// limited returns a ctx that ends with errLate after the time for one request, by
// its [clock].
func (s *server) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &clock{cancel: cancel, left: s.timeout(), still: longestStill}
	c.mu.Lock()
	c.set(c.left)
	c.mu.Unlock()
	q := s.questions
	q.mu.Lock()
	q.clocks[c] = true
	q.mu.Unlock()
	return ctx, func() {
		cancel(nil)
		q.mu.Lock()
		delete(q.clocks, c)
		q.mu.Unlock()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.timer.Stop()
	}
}

// set has the timer fire after d. c.mu is held.
func (c *clock) set(d time.Duration) {
	c.since = time.Now()
	c.due = c.since.Add(d)
	if c.timer != nil {
		c.timer.Stop()
	}
	c.timer = time.AfterFunc(d, c.fire)
}

func (c *clock) fire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case time.Now().Before(c.due): // it was set anew at that moment
	case c.questions > 0 && c.still > 0: // it has stood still for long enough
		c.still = 0
		c.set(c.left)
	default:
		c.cancel(errLate)
	}
}

func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.questions++; c.questions == 1 && c.still > 0 {
		c.left -= time.Since(c.since)
		c.set(c.still)
	}
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.questions--; c.questions == 0 && c.still > 0 {
		c.still -= time.Since(c.since)
		c.set(c.left)
	}
}
