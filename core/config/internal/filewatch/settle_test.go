package filewatch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Changes in short order cause one reload, once they have settled; one during the
// reload causes another.
func TestAfterSettling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a fake clock: nothing waits
		ctx, cancel := context.WithCancel(t.Context())
		changes := make(chan struct{}, 1)
		reloads := make(chan time.Duration, 10)
		start := time.Now()
		done := make(chan struct{})
		go func() {
			defer close(done)
			afterSettling(ctx, changes, func(context.Context) {
				reloads <- time.Since(start)
				if len(reloads) == 1 {
					changes <- struct{}{}
				}
			})
		}()
		for range 3 {
			changes <- struct{}{}
			time.Sleep(settleTime - time.Millisecond)
			synctest.Wait()
			require.Empty(t, reloads)
		}
		time.Sleep(10 * settleTime)
		synctest.Wait()
		require.Len(t, reloads, 2)
		require.Equal(t, 3*settleTime-2*time.Millisecond, <-reloads)
		require.Equal(t, 4*settleTime-2*time.Millisecond, <-reloads)
		changes <- struct{}{}
		cancel()
		<-done
		require.Empty(t, reloads, "none after the end")
	})
}
