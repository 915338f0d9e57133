package agent

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"

	"github.com/fettle-dev/fettle/core/model"
)

const (
	defaultAttempts       = 10
	defaultFirst          = 5 * time.Second
	defaultLongest        = 30 * time.Second
	defaultStreamAttempts = 4
	defaultStreamFirst    = time.Second

	longestRequested = 5 * time.Minute // maximum wait that a provider may request
)

// backoff decides whether and when a request is retried.
type backoff struct {
	retry   Retry
	refused int // consecutive attempts without the start of an answer
	broken  int // answers that broke off or were invalid
}

// again returns the wait before the next attempt, and whether there is one. began is whether the answer had started; err
// is nil for a complete but invalid answer.
func (b *backoff) again(began bool, err *model.Error) (time.Duration, bool) {
	if err != nil && !b.worthwhile(err) {
		return 0, false
	}
	var wait time.Duration
	if began || err == nil {
		b.refused = 0
		b.broken++
		if b.broken >= cmp.Or(b.retry.StreamAttempts, defaultStreamAttempts) {
			return 0, false
		}
		wait = doubled(cmp.Or(b.retry.StreamFirst, defaultStreamFirst), b.broken-1, cmp.Or(b.retry.Longest, defaultLongest))
	} else {
		b.refused++
		if b.refused >= cmp.Or(b.retry.Attempts, defaultAttempts) {
			return 0, false
		}
		wait = doubled(cmp.Or(b.retry.First, defaultFirst), b.refused-1, cmp.Or(b.retry.Longest, defaultLongest))
	}
	if err != nil && err.RetryAfter > 0 {
		return spread(max(wait, err.RetryAfter), 0, 0.2), true
	}
	return spread(wait, -0.3, 0.3), true
}

// worthwhile reports whether the same request may succeed soon.
func (b *backoff) worthwhile(err *model.Error) bool {
	if b.retry.OnlyStatus && err.Kind == model.Connection && err.Status == 0 {
		return false
	}
	return err.Kind.Retryable() && err.RetryAfter <= longestRequested
}

// doubled returns first, doubled n times, but at most longest.
func doubled(first time.Duration, n int, longest time.Duration) time.Duration {
	for ; n > 0 && first < longest; n-- {
		first *= 2
	}
	return min(first, longest)
}

// spread adds a random share of wait, between least and most.
func spread(wait time.Duration, least, most float64) time.Duration {
	return wait + time.Duration(float64(wait)*(least+(most-least)*rand.Float64())) //nolint:gosec // jitter is no secret
}

// pause waits until the time has passed or ctx ends.
func pause(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
