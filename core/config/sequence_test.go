package config

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// waitingForLock returns once a goroutine in a method of a Config, or of a service
// that it locates, waits for a lock.
func waitingForLock(t *testing.T, method string) {
	t.Helper()
	waitingForLockOr(t, method, nil)
}

// waitingForLockOr also returns once done is closed.
func waitingForLockOr(t *testing.T, method string, done <-chan struct{}) {
	t.Helper()
	stacks := make([]byte, 1<<20)
	require.Eventually(t, func() bool {
		select {
		case <-done:
			return true
		default:
		}
		for one := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			if strings.Contains(one, "sync.(*Mutex)") && strings.Contains(one, "core/config.") && strings.Contains(one, "."+method+"(") {
				return true
			}
		}
		return false
	}, time.Minute, time.Millisecond)
}

// AR-27: a mode that is set while Initialize discovers that the directory is
// untrusted is checked against that.
func TestYoloBesideInitialize(t *testing.T) {
	c, err := New(Parameters{TargetDir: t.TempDir(), Environment: Environment{HomeDir: t.TempDir()}})
	require.NoError(t, err)
	defer c.Close()
	c.mu.Lock()
	answer := make(chan error, 1)
	go func() { answer <- c.SetApprovalMode(policy.ModeYolo) }()
	waitingForLock(t, "SetApprovalMode")
	learnt := c.given.parameters()
	learnt.Policy.Trust = trust.Untrusted
	c.filled.Store(learnt.store())
	c.mu.Unlock()
	require.Equal(t, fault.UntrustedFolder, fault.CodeOf(<-answer))
	require.Equal(t, policy.ModeDefault, c.ApprovalMode())
}

// Decide on a Config that is being closed either decides or returns an error.
func TestDecideBesideClose(t *testing.T) {
	for range 20 {
		c, err := New(Parameters{TargetDir: t.TempDir(), Environment: Environment{HomeDir: t.TempDir()}})
		require.NoError(t, err)
		require.NoError(t, c.Initialize(t.Context()))
		c.mu.Lock()
		var both sync.WaitGroup
		decided := make(chan struct{})
		both.Go(func() {
			defer close(decided)
			if _, err := c.Policy().Decide(policy.Call{Tool: "glob", Mode: policy.ModeDefault}); err != nil && fault.CodeOf(err) != fault.NotInitialized {
				t.Error(err)
			}
		})
		waitingForLock(t, "Decide")
		both.Go(func() { _ = c.Close() })
		waitingForLock(t, "Close")
		c.mu.Unlock()
		c.mu.Lock() // released once more to waiting goroutines, so that they take turns
		waitingForLockOr(t, "Decide", decided)
		c.mu.Unlock()
		both.Wait()
	}
}
