// Package filestate tracks the content of files that a conversation has received.
//
// A [Service] reads files for the model as state objects ([State]) with a version and a hash,
// records them in a [FileReadCache], and decides with [Service.Decide] whether the conversation
// knows a file well enough to change it. A [Recording] delays the records of a tool call until its
// result is known to reach the conversation.
package filestate

import "sync/atomic"

// SessionStateService counts the state objects of a conversation. Its zero value is ready to use
// and starts at none. It is safe for concurrent use. A subagent has its own.
type SessionStateService struct {
	last atomic.Int64
}

// NextVersion returns the next number: 1 first, then rising by one, never repeated and never
// skipped.
func (s *SessionStateService) NextVersion() int64 { return s.last.Add(1) }

// Current returns the last number, 0 for none.
func (s *SessionStateService) Current() int64 { return s.last.Load() }

// raise makes the next number at least atLeast+1, so that the versions of a resumed history stay
// below the new ones. It never lowers the counter.
func (s *SessionStateService) raise(atLeast int64) {
	for {
		now := s.last.Load()
		if now >= atLeast || s.last.CompareAndSwap(now, atLeast) {
			return
		}
	}
}

// reset starts again from 0, for a new session.
func (s *SessionStateService) reset() { s.last.Store(0) }
