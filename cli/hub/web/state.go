package web

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fettle-dev/fettle/cli/hub/natsbus"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/escape"
)

const (
	maxQuestions = 5000    // that are kept; later ones are not shown until others end
	maxSessions  = 5000    // whose last events are kept
	maxOutput    = 4 << 10 // bytes of live output of a session
)

// state is what the page knows of the sessions.
type state struct {
	done chan struct{}
	now  func() time.Time

	mu        sync.Mutex
	questions []*natsbus.Question // the oldest first
	refused   int                 // questions that were not kept
	live      map[string]*live    // by session
	order     []string            // of live, the oldest first
	change    chan struct{}       // closed at the next change
	ended     bool
}

// live are the last events of a session.
type live struct {
	Calls  []bus.ToolCallState // of the current batch
	Output string
}

func newState(now func() time.Time) *state {
	return &state{now: now, done: make(chan struct{}), live: map[string]*live{}, change: make(chan struct{})}
}

func (s *state) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended = true
		close(s.done)
	}
}

// changed returns a channel that is closed at the next change.
func (s *state) changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.change
}

// note reports a change. s.mu is held.
func (s *state) note() {
	close(s.change)
	s.change = make(chan struct{})
}

func (s *state) question(q *natsbus.Question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(q.Session, q.ID) // an earlier form of it
	if len(s.questions) >= maxQuestions {
		s.refused++
		return
	}
	s.questions = append(s.questions, q)
	s.note()
}

func (s *state) settled(e natsbus.Settled) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(e.Session, e.ID)
	s.note()
}

// drop removes a question. s.mu is held.
func (s *state) drop(session, id string) {
	s.questions = slices.DeleteFunc(s.questions, func(q *natsbus.Question) bool { return q.Session == session && q.ID == id })
}

// grace is the time after the end of a question by which a session has reported it, and by which
// the clocks of machines may differ.
const grace = time.Minute

// open returns the open questions. A session that was killed has not reported the end of its own.
func (s *state) open() (all []*natsbus.Question, refused int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	over := s.now().Add(-grace)
	s.questions = slices.DeleteFunc(s.questions, func(q *natsbus.Question) bool { return !q.Expires.IsZero() && q.Expires.Before(over) })
	return slices.Clone(s.questions), s.refused
}

// find returns the open question with a digest.
func (s *state) find(digest string) *natsbus.Question {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.questions, func(q *natsbus.Question) bool { return q.Digest == digest }); i >= 0 {
		return s.questions[i]
	}
	return nil
}

// forget removes a question that its session no longer has.
func (s *state) forget(digest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.questions = slices.DeleteFunc(s.questions, func(q *natsbus.Question) bool { return q.Digest == digest })
}

func (s *state) event(e natsbus.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.live[e.Session]
	if one == nil {
		if len(s.order) >= maxSessions {
			delete(s.live, s.order[0])
			s.order = slices.Delete(s.order, 0, 1)
		}
		one = &live{}
		s.live[e.Session] = one
		s.order = append(s.order, e.Session)
	}
	switch m := e.Message.(type) {
	case bus.ToolCallsUpdate:
		one.Calls = make([]bus.ToolCallState, len(m.ToolCalls))
		for i, c := range m.ToolCalls { // without arguments and results, which are large
			one.Calls[i] = bus.ToolCallState{CallID: c.CallID, Name: c.Name, Description: escape.Clip(c.Description, 300), Status: c.Status, Args: json.RawMessage(nil)}
		}
	case bus.ToolOutput:
		text := strings.Clone(m.Chunk)
		one.Output = escape.Tail(one.Output+text, maxOutput)
	default:
		return
	}
	s.note()
}

// of returns the last events of a session.
func (s *state) of(session string) live {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.live[session]; one != nil {
		return *one
	}
	return live{}
}
