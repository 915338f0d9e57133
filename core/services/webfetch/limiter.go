package webfetch

import (
	"sync"
	"time"
)

// limiter counts the fetches from each host within the last minute.
type limiter struct {
	limit int // negative: unlimited
	now   func() time.Time

	mu    sync.Mutex
	times map[string][]time.Time // by host and port, oldest first
}

const window = time.Minute

// take counts a fetch, or returns the time to wait before it is permitted.
func (l *limiter) take(host string) (wait time.Duration) {
	if l.limit < 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if l.times == nil {
		l.times = map[string][]time.Time{}
	}
	for h, times := range l.times {
		for len(times) > 0 && now.Sub(times[0]) >= window {
			times = times[1:]
		}
		if l.times[h] = times; len(times) == 0 {
			delete(l.times, h)
		}
	}
	if times := l.times[host]; len(times) >= l.limit {
		return window - now.Sub(times[0])
	}
	l.times[host] = append(l.times[host], now)
	return 0
}
