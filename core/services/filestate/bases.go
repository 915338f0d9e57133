package filestate

import (
	"container/list"
	"context"
	"sync"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// BaseStore holds the bytes of file states by their SHA-256, so that a later state
// can be shown by what differs from an earlier one. Conversations may share it: it
// gives out bytes only to a [Service] whose conversation was given the whole of what
// the hash stands for, and files that may not be shown are never put into it.
//
// The zero value is ready for use and allocates nothing until a file is read. It
// keeps 64 MiB in memory, nothing on disk; past that the state used least recently
// is dropped, and what would have been shown by its difference is shown whole. A
// BaseStore is safe for concurrent use.
type BaseStore struct {
	Max int64 // bytes kept; 0 means 64 MiB. Set before first use.

	mu     sync.Mutex
	states map[string]*list.Element // of *baseState, by hash
	lru    list.List                // most recently used first
	size   int64
}

const (
	defaultBaseBytes = 64 << 20
	baseOverhead     = 256 // about what a state takes beside its bytes
)

type baseState struct {
	sha  string
	data []byte
}

func (b *baseState) size() int64 { return int64(cap(b.data)) + baseOverhead }

// put keeps data, which must not be changed any more and hashes to sha.
func (b *BaseStore) put(sha string, data []byte) {
	limit := b.Max
	if limit <= 0 {
		limit = defaultBaseBytes
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if el := b.states[sha]; el != nil {
		b.lru.MoveToFront(el)
		return
	}
	added := &baseState{sha, data}
	if added.size() > limit {
		return
	}
	for b.size+added.size() > limit {
		last := b.lru.Back()
		dropped := b.lru.Remove(last).(*baseState)
		delete(b.states, dropped.sha)
		b.size -= dropped.size()
	}
	if b.states == nil {
		b.states = make(map[string]*list.Element)
	}
	b.states[sha] = b.lru.PushFront(added)
	b.size += added.size()
}

// get returns the bytes that hash to sha, if they are still kept.
func (b *BaseStore) get(sha string) ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	el := b.states[sha]
	if el == nil {
		return nil, false
	}
	b.lru.MoveToFront(el)
	return el.Value.(*baseState).data, true
}

// Size returns how many bytes are kept, with what they take beside themselves.
func (b *BaseStore) Size() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.size
}

// Known names the state of a file that a conversation was last given every byte of.
// The zero value names none.
type Known struct {
	SHA256  string
	Version int64 // under which it was given out last
}

// Known returns the state of the file at p that the conversation was last given
// every byte of, whatever the file holds now. It is zero where there is none, where
// the file may not be shown, and while the cache is disabled.
func (s *Service) Known(p workspace.Path) Known {
	if !s.MayShow(p) || s.HeedHatch() {
		return Known{}
	}
	info, err := s.files.Stat(p)
	if err != nil {
		return Known{}
	}
	e, ok := s.known(p, info)
	if !ok || !e.Qualifying() {
		return Known{}
	}
	return Known{SHA256: e.SHA256, Version: e.Version}
}

// KeepBase keeps the bytes of the file at p, which hash to sha and must not be changed
// any more, if the conversation knows them all (see [Service.Knows]) once the
// [Recording] of ctx is committed.
func (s *Service) KeepBase(ctx context.Context, p workspace.Path, info workspace.Info, sha string, data []byte) {
	if s.limits.ChangedRegionsAbove > 0 { // else no base is used
		s.WhenShown(ctx, func() { s.keepBase(p, info, sha, data) })
	}
}

func (s *Service) keepBase(p workspace.Path, info workspace.Info, sha string, data []byte) {
	if s.limits.ChangedRegionsAbove <= 0 || !s.MayShow(p) || !s.Knows(p, info, sha) {
		return
	}
	s.Cache.give(sha)
	s.bases.put(sha, data)
}

// base returns the bytes of a state that the conversation was given whole, if they
// are still kept.
func (s *Service) base(sha string) ([]byte, bool) {
	if !s.Cache.gave(sha) {
		return nil, false
	}
	return s.bases.get(sha)
}

// give notes that the conversation was given every byte of what hashes to sha. It
// remembers as many hashes as files; past that any of them is forgotten.
func (c *FileReadCache) give(sha string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.given == nil {
		c.given = make(map[string]struct{})
	}
	c.given[sha] = struct{}{}
	for old := range c.given {
		if len(c.given) <= c.limit() {
			break
		}
		if old != sha {
			delete(c.given, old)
		}
	}
}

// gave reports whether give has noted sha since the cache was cleared.
func (c *FileReadCache) gave(sha string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.given[sha]
	return ok
}
