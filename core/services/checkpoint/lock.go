package checkpoint

import (
	"context"
	"time"

	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// lockWait is how long another process may hold a lock that it needs only briefly.
const lockWait = 200 * time.Millisecond

// lock takes a lock, for which it waits at most for the given time.
func lock(ctx context.Context, path string, wait time.Duration) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return lockedfile.Lock(ctx, path)
}
