package checkpoint

import (
	"context"
	"time"

	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// lockWait is how long somebody may need to give a lock back that he has for a
// moment alone.
const lockWait = 200 * time.Millisecond

// lock takes a lock, for which it waits so long at the most.
func lock(ctx context.Context, path string, wait time.Duration) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return lockedfile.Lock(ctx, path)
}
