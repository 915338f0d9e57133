package rulefile

import (
	"context"
	"errors"
	"time"
)

// errBusy says that somebody else has the lock.
var errBusy = errors.New("another process has the lock")

// Pauses between two tries to get a lock.
const (
	firstPause = time.Millisecond
	longPause  = 16 * time.Millisecond
)

// lock takes the lock of a folder, which calls of all processes share. It
// waits until ctx ends.
func lock(ctx context.Context, folder string) (unlock func(), err error) {
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		unlock, err := tryLock(folder)
		if !errors.Is(err, errBusy) {
			return unlock, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-timer.C:
		}
	}
}
