package mcp

import (
	"context"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// Limits on elicitation requests.
const (
	maxQuestion       = 4 << 10  // bytes of the text; a longer text is shortened
	maxQuestionSchema = 64 << 10 // bytes; a larger schema is refused
	maxQuestionURL    = 4 << 10  // bytes of a page's address and of its id; a longer one is refused
	maxWaiting        = 8        // requests that wait for the open one; further requests are refused
)

// Time limits for the user.
const (
	questionTime = 10 * time.Minute // to answer one question
	longestStill = 30 * time.Minute // total suspension of one request's timeout
)

// questions serializes the elicitation requests of one server.
type questions struct {
	turn chan struct{} // holds a value while a question is open

	mu     sync.Mutex
	number int // open and waiting
	clocks map[*clock]bool
}

func newQuestions() *questions {
	return &questions{turn: make(chan struct{}, 1), clocks: make(map[*clock]bool)}
}

// begin registers a question and suspends the timeouts of the running requests,
// because the question may belong to any of them. It returns ok == false if too
// many questions are waiting.
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

// elicit passes a server's question to the user. It answers cancel if that is not
// possible.
func (s *server) elicit(ctx context.Context, l *link, e host.Elicitation) (answer host.Elicited, err error) {
	answer.Action = host.ElicitCancel
	refuse := func(why string) (host.Elicited, error) {
		s.m.o.Logger.Warn("a question of an MCP server is refused", "server", s.Name, "why", why)
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
		return refuse("too many questions are waiting")
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
		defer context.AfterFunc(ctx, end)() // the handler may ignore ctx
		return s.protect("ask the user", func() (err error) {
			answer, err = s.m.o.Elicit(ctx, s.Name, e)
			return err
		})
	})
	return answer, err
}

// clock ends a request with errLate when the request's timeout expires. It is
// suspended while a question is open that the server asked since the request
// began, but for no longer than longestStill in total.
type clock struct {
	cancel context.CancelCauseFunc

	mu        sync.Mutex
	left      time.Duration // of the request's timeout
	still     time.Duration // how long the clock may still be suspended
	questions int           // open ones that suspend the clock
	since     time.Time     // when the clock last started or stopped
	due       time.Time     // when timer fires
	timer     *time.Timer
}

// limited returns a ctx that ends with errLate after the timeout of one request,
// as measured by its [clock].
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

// set makes the timer fire after d. The caller holds c.mu.
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
	case time.Now().Before(c.due): // it was reset at that moment
	case c.questions > 0 && c.still > 0: // the limit on suspensions has been reached
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
