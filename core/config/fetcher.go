package config

import (
	"context"
	"errors"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/webfetch"
)

// fetcher fetches pages as the settings of the moment say. What was fetching
// when they changed goes on under the old ones.
type fetcher struct {
	mu    sync.Mutex
	o     *webfetch.Options // of now; checked and not changed
	now   *webfetch.Service // made at first use, as most sessions fetch nothing
	past  []*webfetch.Service
	ended bool
}

// current returns the service of the moment; after close one that is closed.
func (f *fetcher) current() (*webfetch.Service, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now == nil {
		s, err := webfetch.New(*f.o)
		if err != nil {
			return nil, err // the check has found no mistake
		}
		if f.now = s; f.ended {
			return s, s.Close()
		}
	}
	return f.now, nil
}

func (f *fetcher) Fetch(ctx context.Context, urls []string) []webfetch.Page {
	s, err := f.current()
	if err != nil {
		pages := make([]webfetch.Page, len(urls))
		for i, u := range urls {
			pages[i] = webfetch.Page{URL: u, Err: fault.As(err)}
		}
		return pages
	}
	return s.Fetch(ctx, urls)
}

func (f *fetcher) Check(rawURL string) error {
	s, err := f.current()
	if err != nil {
		return err
	}
	return s.Check(rawURL)
}

// replace takes other options, which have been checked, for what is fetched from
// now on, unless close has been called.
func (f *fetcher) replace(o *webfetch.Options) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return
	}
	if f.now != nil {
		f.past = append(f.past, f.now)
	}
	f.o, f.now = o, nil
}

func (f *fetcher) close() error {
	f.mu.Lock()
	f.ended = true
	all := f.past
	if f.now != nil {
		all = append(all, f.now)
	}
	f.mu.Unlock()
	var errs []error
	for _, s := range all {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
