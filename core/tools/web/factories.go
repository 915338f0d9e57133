package web

import "sync"

// The immutable factories are built once for the process.
var (
	fetchFactories = sync.OnceValues(func() ([]*FetchFactory, error) {
		f, err := newWebFetch()
		return []*FetchFactory{f}, err
	})
	searchFactories = sync.OnceValues(func() ([]*SearchFactory, error) {
		f, err := newWebSearch()
		return []*SearchFactory{f}, err
	})
)
