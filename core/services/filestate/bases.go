package filestate

import (
	"container/list"
	"context"
	"sync"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// BaseStore keeps the bytes of file states by their SHA-256, so that a later state can be shown as
// the difference from an earlier one, and a change of an earlier one can be carried over.
// Conversations may share it. It returns bytes only to a [Service] whose conversation has received
// the complete content with that hash, and files that may not be shown are never stored.
//
// The zero value is ready to use and allocates nothing until a file is read. It keeps 64 MiB in
// memory, nothing on disk. Beyond that the least recently used state is dropped, and a change based
// on it is shown with the whole content. A BaseStore is safe for concurrent use.
type BaseStore struct {
	max int64 // bytes kept; 0 means 64 MiB. Set before first use.

	mu     sync.Mutex
	states map[string]*list.Element // of *baseState, by hash
	lru    list.List                // most recently used first
	size   int64
}

const (
	defaultBaseBytes = 64 << 20
	baseOverhead     = 256 // approximate size of a state apart from its bytes
)

type baseState struct {
	sha  string
	data []byte
}

func (b *baseState) size() int64 { return int64(cap(b.data)) + baseOverhead }

// put stores data, which must not be changed any more and has the hash sha.
func (b *BaseStore) put(sha string, data []byte) {
	limit := b.max
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

// get returns the bytes with the hash sha, if they are still stored.
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

// Size returns the number of bytes in use, including the overhead of each state.
func (b *BaseStore) Size() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.size
}

// Known identifies the last state of a file of which a conversation has received every byte. The
// zero value identifies none.
type Known struct {
	SHA256  string
	Version int64 // the version under which it was shown last
}

// Known returns the last state of the file at p of which the conversation has received every byte,
// regardless of the file's current content. It is zero if there is none, if the file may not be
// shown, and while the cache is disabled.
func (s *Service) Known(p workspace.Path) Known {
	if !s.MayShow(p) || s.ApplyKillSwitch() {
		return Known{}
	}
	info, err := s.files.Stat(p)
	if err != nil {
		return Known{}
	}
	e, ok := s.known(p, info)
	if !ok || !e.qualifying() {
		return Known{}
	}
	return Known{SHA256: e.SHA256, Version: e.version}
}

// KeepBase stores the bytes of the file at p, which have the hash sha and must not be changed any
// more, if the conversation knows all of them (see [Service.Knows]) once the [Recording] of ctx is
// committed.
func (s *Service) KeepBase(ctx context.Context, p workspace.Path, info workspace.Info, sha string, data []byte) {
	s.WhenShown(ctx, func() { s.keepBase(p, info, sha, data) })
}

func (s *Service) keepBase(p workspace.Path, info workspace.Info, sha string, data []byte) {
	if !s.MayShow(p) || !s.Knows(p, info, sha) {
		return
	}
	s.Cache.give(sha)
	s.bases.put(sha, data)
}

// Base returns the bytes of a state that the conversation has received completely, if they are
// still stored. They must not be changed.
func (s *Service) Base(sha string) ([]byte, bool) {
	if !s.Cache.gave(sha) {
		return nil, false
	}
	return s.bases.get(sha)
}

// give records that the conversation has received every byte of the content with the hash sha. It
// keeps as many hashes as files; beyond that an arbitrary one is dropped.
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

// gave reports whether give has recorded sha since the cache was cleared.
func (c *FileReadCache) gave(sha string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.given[sha]
	return ok
}
