package config

import (
	"slices"
	"sync/atomic"
)

// family is what a Config and those derived from it know of each other.
type family struct {
	turns    atomic.Int64 // how often a cache was turned off
	ceiling  atomic.Pointer[ceiling]
	excluded atomic.Pointer[[]string] // tools that settings have excluded since the beginning; nil: none
}

// exclude adds tools to those that are excluded in the whole family.
func (f *family) exclude(names []string) {
	if now := f.excluded.Load(); now != nil {
		names = slices.Concat(*now, names)
	}
	f.excluded.Store(&names) // by one reload at a time
}

// excluded are the tools that are excluded here: by the parameters, and by what
// settings have said since.
func (c *Config) excluded() []string {
	all := slices.Clone(c.params().ExcludeTools)
	if since := c.family.excluded.Load(); since != nil {
		for _, name := range *since {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}
