// Package lease gives one owner at a time a name, such as a workspace, by a key of a JetStream
// bucket. It compares no clocks of different machines: an owner trusts its lease for the duration
// since it sent its last renewal, and another candidate takes a lease only after it has itself
// seen no renewal for longer than that. It assumes that clocks run at rates that differ by less
// than a tenth; jumps of the time of day have no effect.
package lease

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fettle-dev/fettle/core/bus"
)

// ErrLost is returned when the lease has ended or another owner has it.
var ErrLost = errors.New("lease: another worker may own the workspace now")

// defaultFor is the duration of a lease.
const defaultFor = 15 * time.Second

// Options configure a [Lease]. Bucket, Key and Owner are required.
type Options struct {
	Bucket jetstream.KeyValue
	Key    string
	Owner  string           // for display
	For    time.Duration    // how long a renewal lasts; 0: 15 seconds
	Now    func() time.Time // a clock that never goes back; nil: time.Now, whose readings are monotonic
}

// Lease is one owner's lease.
type Lease struct {
	o  Options
	id string // of this owner in this process

	mu       sync.Mutex
	revision uint64    // of the own entry; 0: not owned
	until    time.Time // the lease is trusted before
	seen     uint64    // the revision of another owner
	since    time.Time // when it was seen first
}

// entry is the value of the key.
type entry struct {
	ID    string `json:"id"`
	Owner string `json:"owner"`
}

// New returns a lease that is not owned yet.
func New(o Options) *Lease {
	o.For = cmp.Or(o.For, defaultFor)
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Lease{o: o, id: bus.NewID()}
}

func (l *Lease) value() []byte {
	data, _ := json.Marshal(entry{l.id, l.o.Owner}) // two strings
	return data
}

// Try takes the lease if it is free, and reports whether it is owned. A candidate calls it
// repeatedly: it can only take over a lease that it has seen unchanged for long enough.
func (l *Lease) Try(ctx context.Context) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.o.Now()
	if l.revision != 0 && now.Before(l.until) {
		return true, nil
	}
	l.revision = 0
	current, err := l.o.Bucket.Get(ctx, l.o.Key)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return l.took(now, func() (uint64, error) { return l.o.Bucket.Create(ctx, l.o.Key, l.value()) })
	case err != nil:
		return false, fmt.Errorf("lease: read: %w", err)
	}
	now = l.o.Now()
	if current.Revision() != l.seen {
		l.seen, l.since = current.Revision(), now
		return false, nil
	}
	if now.Sub(l.since) < l.o.For+l.o.For/10 {
		return false, nil
	}
	return l.took(now, func() (uint64, error) { return l.o.Bucket.Update(ctx, l.o.Key, l.value(), l.seen) })
}

// took writes the own entry. sent is a time before the write. l.mu is held.
func (l *Lease) took(sent time.Time, write func() (uint64, error)) (bool, error) {
	revision, err := write()
	switch {
	case errors.Is(err, jetstream.ErrKeyExists), isWrongSequence(err):
		return false, nil
	case err != nil: // it may have been written: then it is seen as one of another owner
		return false, fmt.Errorf("lease: write: %w", err)
	}
	l.revision, l.until = revision, sent.Add(l.o.For)
	return true, nil
}

func isWrongSequence(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}

// Renew prolongs the lease. The error is [ErrLost] if it is no longer owned.
func (l *Lease) Renew(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	sent := l.o.Now()
	if l.revision == 0 || !sent.Before(l.until) {
		l.revision = 0
		return ErrLost
	}
	revision, err := l.o.Bucket.Update(ctx, l.o.Key, l.value(), l.revision)
	switch {
	case isWrongSequence(err), errors.Is(err, jetstream.ErrKeyExists):
		// An earlier renewal may have been written although its acknowledgement was lost.
		if current, got := l.o.Bucket.Get(ctx, l.o.Key); got == nil && l.isOwn(current) {
			l.revision = current.Revision()
			return nil // not prolonged: the time of that write is unknown
		}
		l.revision = 0
		return ErrLost
	case err != nil:
		return fmt.Errorf("lease: renew: %w", err)
	}
	l.revision, l.until = revision, sent.Add(l.o.For)
	return nil
}

func (l *Lease) isOwn(e jetstream.KeyValueEntry) bool {
	var v entry
	return json.Unmarshal(e.Value(), &v) == nil && v.ID == l.id
}

// Keep renews the lease until ctx ends or the lease is lost, and returns the reason.
func (l *Lease) Keep(ctx context.Context) error {
	tick := time.NewTicker(max(l.o.For/5, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		one, cancel := context.WithTimeout(ctx, l.o.For/3)
		err := l.Renew(one)
		cancel()
		if errors.Is(err, ErrLost) || l.Left() <= 0 {
			return ErrLost
		}
	}
}

// Left returns for how long the lease is trusted; 0 or less: it is lost.
func (l *Lease) Left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.revision == 0 {
		return 0
	}
	return l.until.Sub(l.o.Now())
}

// Check asks the server whether the lease is still owned. It fails with [ErrLost] too if the
// server does not answer while the lease is trusted.
func (l *Lease) Check(ctx context.Context) error {
	left := l.Left()
	if left <= 0 {
		return ErrLost
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	current, err := l.read(ctx)
	if err != nil || !l.isOwn(current) || l.Left() <= 0 {
		return ErrLost
	}
	return nil
}

// read returns the entry of the key. It asks again until ctx ends, because a cluster answers with an error
// while its servers elect a leader.
func (l *Lease) read(ctx context.Context) (jetstream.KeyValueEntry, error) {
	const patience, pause = 2 * time.Second, 50 * time.Millisecond
	for {
		one, cancel := context.WithTimeout(ctx, patience)
		current, err := l.o.Bucket.Get(one, l.o.Key)
		cancel()
		if err == nil || errors.Is(err, jetstream.ErrKeyNotFound) {
			return current, err
		}
		wait := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			wait.Stop()
			return nil, err
		case <-wait.C:
		}
	}
}

// Release gives the lease up, so that another candidate need not wait.
func (l *Lease) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.revision == 0 {
		return nil
	}
	err := l.o.Bucket.Delete(ctx, l.o.Key, jetstream.LastRevision(l.revision))
	l.revision = 0
	if err != nil && !isWrongSequence(err) {
		return fmt.Errorf("lease: release: %w", err)
	}
	return nil
}
