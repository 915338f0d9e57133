package filestate

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// BaseStore keeps the bytes of file states by their SHA-256, so that a later state can be shown as
// the difference from an earlier one, and a change of an earlier one can be carried over.
// Conversations may share it. It returns bytes only to a [Service] whose conversation has received
// the complete content with that hash, and files that may not be shown are never stored.
//
// The zero value is ready to use and allocates nothing until a file is read. It keeps 64 MiB in
// memory. Beyond that the least recently used state goes to Spill, or is dropped; a change based on
// a dropped state is shown with the whole content. A BaseStore is safe for concurrent use.
type BaseStore struct {
	// Spill stores states outside of memory, up to 512 MiB. nil: nothing is. Set before first use; it
	// must be safe for concurrent use.
	Spill interface {
		// PutBase stores a content of the file at p by its SHA-256. It returns false if it stores
		// nothing, also because the content is stored already.
		PutBase(p workspace.Path, data []byte) bool
		// Base returns the content with a hash, if it is stored.
		Base(sha string) ([]byte, bool)
	}

	max     int64 // bytes in memory; 0 means 64 MiB. Set before first use.
	spilled atomic.Int64

	mu     sync.Mutex
	states map[string]*list.Element // of *baseState, by hash
	lru    list.List                // most recently used first
	size   int64
}

const (
	defaultBaseBytes = 64 << 20
	maxSpilled       = 512 << 20
	baseOverhead     = 256 // approximate size of a state apart from its bytes
)

type baseState struct {
	path workspace.Path
	sha  string
	data []byte
}

func (b *baseState) size() int64 { return int64(cap(b.data)) + baseOverhead }

// put stores data of the file at p, which must not be changed any more and has the hash sha.
func (b *BaseStore) put(p workspace.Path, sha string, data []byte) {
	for _, old := range b.add(&baseState{p, sha, data}) {
		if b.Spill != nil && b.spilled.Load() < maxSpilled && b.Spill.PutBase(old.path, old.data) {
			b.spilled.Add(int64(len(old.data)))
		}
	}
}

// add stores a state in memory and returns those that it replaces.
func (b *BaseStore) add(added *baseState) (dropped []*baseState) {
	limit := b.max
	if limit <= 0 {
		limit = defaultBaseBytes
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if el := b.states[added.sha]; el != nil {
		b.lru.MoveToFront(el)
		return nil
	}
	if added.size() > limit {
		return []*baseState{added}
	}
	for b.size+added.size() > limit {
		old := b.lru.Remove(b.lru.Back()).(*baseState)
		delete(b.states, old.sha)
		b.size -= old.size()
		dropped = append(dropped, old)
	}
	if b.states == nil {
		b.states = make(map[string]*list.Element)
	}
	b.states[added.sha] = b.lru.PushFront(added)
	b.size += added.size()
	return dropped
}

// get returns the bytes with the hash sha, if they are still stored.
func (b *BaseStore) get(sha string) ([]byte, bool) {
	if data, ok := b.inMemory(sha); ok {
		return data, true
	}
	if b.Spill == nil {
		return nil, false
	}
	return b.Spill.Base(sha)
}

func (b *BaseStore) inMemory(sha string) ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	el := b.states[sha]
	if el == nil {
		return nil, false
	}
	b.lru.MoveToFront(el)
	return el.Value.(*baseState).data, true
}

// inUse returns the number of bytes in memory, including the overhead of each state.
func (b *BaseStore) inUse() int64 {
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
	s.bases.put(p, sha, data)
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
