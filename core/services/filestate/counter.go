// Package filestate knows what a conversation has been shown of each file:
// it hands out state objects with a version and a hash, remembers them, and
// takes the one decision whether a change may rest on them.
package filestate

import "sync/atomic"

// SessionStateService counts the state objects that a conversation was given
// (FS-01, FS-02). Its zero value is ready and has given none. It is safe for
// concurrent use. A subagent has one of its own (FS-03).
type SessionStateService struct {
	last atomic.Int64
}

// NextVersion spends a number: 1 first, then rising by one, never repeated
// and never skipped.
func (s *SessionStateService) NextVersion() int64 { return s.last.Add(1) }

// Current returns the number spent last, 0 for none.
func (s *SessionStateService) Current() int64 { return s.last.Load() }

// Raise makes the next number at least atLeast+1, so that a resumed history's
// versions stay below the new ones (AR-04). It never lowers the counter.
func (s *SessionStateService) Raise(atLeast int64) {
	for {
		now := s.last.Load()
		if now >= atLeast || s.last.CompareAndSwap(now, atLeast) {
			return
		}
	}
}

// Reset starts again from 0, for a new session.
func (s *SessionStateService) Reset() { s.last.Store(0) }
