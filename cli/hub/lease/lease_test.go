package lease_test

import (
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/hub/lease"
	"github.com/fettle-dev/fettle/cli/hub/server"
)

// clock is a clock of one machine.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

const lasts = 10 * time.Second

// pair returns two candidates whose clocks are years apart.
func pair(t *testing.T) (a, b *lease.Lease, clockA, clockB *clock) {
	t.Helper()
	hub, err := server.Start(server.Options{Addr: "127.0.0.1:0", Dir: t.TempDir(), NoSync: true})
	require.NoError(t, err)
	t.Cleanup(hub.Close)
	candidate := func(owner string, c *clock) *lease.Lease {
		nc, err := hub.Connect()
		require.NoError(t, err)
		t.Cleanup(nc.Close)
		js, err := jetstream.New(nc)
		require.NoError(t, err)
		bucket, err := js.CreateOrUpdateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "L"})
		require.NoError(t, err)
		return lease.New(lease.Options{Bucket: bucket, Key: "app", Owner: owner, For: lasts, Now: c.now})
	}
	clockA, clockB = &clock{at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, &clock{at: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)}
	return candidate("a", clockA), candidate("b", clockB), clockA, clockB
}

func take(t *testing.T, l *lease.Lease, want bool) {
	t.Helper()
	ok, err := l.Try(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, ok)
}

// HB-02: a workspace has one owner. Another candidate takes over only after it has seen no renewal
// for longer than the lease, whatever its clock shows, and the old owner notices.
func TestOneOwner(t *testing.T) {
	a, b, clockA, clockB := pair(t)
	take(t, a, true)
	take(t, a, true)
	require.Equal(t, lasts, a.Left())
	require.Zero(t, b.Left())
	require.ErrorIs(t, b.Check(t.Context()), lease.ErrLost)
	take(t, b, false) // it has seen the lease for the first time
	pass := func(d time.Duration) { clockA.jump(d); clockB.jump(d) }
	for range 5 {
		pass(lasts * 9 / 10)
		require.NoError(t, a.Renew(t.Context()))
		take(t, b, false)
	}
	pass(lasts)
	require.ErrorIs(t, a.Check(t.Context()), lease.ErrLost) // before another may take over
	take(t, b, false)
	pass(lasts / 5)
	take(t, b, true)
	require.NoError(t, b.Check(t.Context()))
	require.ErrorIs(t, a.Renew(t.Context()), lease.ErrLost)
	take(t, a, false)
	require.NoError(t, a.Release(t.Context())) // it has none
	require.NoError(t, b.Check(t.Context()))
	require.NoError(t, b.Release(t.Context()))
	take(t, a, true) // at once
}

// HB-06: if the clock of the owner goes back or that of the candidate jumps ahead, the check with
// the server still finds the loss.
func TestClockJumps(t *testing.T) {
	a, b, clockA, clockB := pair(t)
	take(t, a, true)
	take(t, b, false)
	clockA.jump(-24 * time.Hour) // its lease seems to last for a day
	clockB.jump(24 * time.Hour)
	take(t, b, true)
	require.Greater(t, a.Left(), time.Hour)
	require.ErrorIs(t, a.Check(t.Context()), lease.ErrLost)
	require.ErrorIs(t, a.Renew(t.Context()), lease.ErrLost)
	require.Zero(t, a.Left())
	require.NoError(t, b.Check(t.Context()))

	clockB.jump(24 * time.Hour) // the owner's jumps ahead: it gives up early
	require.ErrorIs(t, b.Check(t.Context()), lease.ErrLost)
	take(t, a, false)
}
