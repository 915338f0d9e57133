package webfetch

import (
	"sync"
	"time"
)

// limiter counts what each host was asked for within the last minute.
type limiter struct {
	most int // negative: any number
	now  func() time.Time

	mu    sync.Mutex
	asked map[string][]time.Time // by host and port, oldest first
}

const minute = time.Minute

// take counts one more fetch, or returns how long to wait until it may be made.
func (l *limiter) take(host string) (wait time.Duration) {
	if l.most < 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if l.asked == nil {
		l.asked = map[string][]time.Time{}
	}
	for h, times := range l.asked {
		for len(times) > 0 && now.Sub(times[0]) >= minute {
			times = times[1:]
		}
		if l.asked[h] = times; len(times) == 0 {
			delete(l.asked, h)
		}
	}
	if times := l.asked[host]; len(times) >= l.most {
		return minute - now.Sub(times[0])
	}
	l.asked[host] = append(l.asked[host], now)
	return 0
}
