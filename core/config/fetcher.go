package config

import (
	"context"
	"errors"
	"sync"

	"github.com/fettle-dev/fettle/core/services/webfetch"
)

// fetcher fetches pages as the settings of the moment say. What was fetching
// when they changed goes on under the old ones.
type fetcher struct {
	mu    sync.Mutex
	now   *webfetch.Service
	past  []*webfetch.Service
	ended bool
}

func (f *fetcher) current() *webfetch.Service {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fetcher) Fetch(ctx context.Context, urls []string) []webfetch.Page {
	return f.current().Fetch(ctx, urls)
}

func (f *fetcher) Check(rawURL string) error { return f.current().Check(rawURL) }

// replace takes another service for what is fetched from now on, unless close
// has been called.
func (f *fetcher) replace(s *webfetch.Service) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ended {
		f.past, f.now = append(f.past, f.now), s
	}
}

func (f *fetcher) close() error {
	f.mu.Lock()
	f.ended = true
	all := append(f.past, f.now)
	f.mu.Unlock()
	var errs []error
	for _, s := range all {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
