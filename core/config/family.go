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

	extended extended
	brought  atomic.Pointer[contributed] // by extensions; see Config.brought
}

// exclude adds tools to those that are excluded in the whole family.
func (f *family) exclude(names []string) {
	if now := f.excluded.Load(); now != nil {
		names = slices.Concat(*now, names)
	}
	f.excluded.Store(&names) // by one reload at a time
}

// excluded are the tools that are excluded here: by the parameters, by what
// settings have said since, and by extensions.
func (c *Config) excluded() []string {
	all := slices.Clone(c.params().ExcludeTools)
	add := func(names []string) {
		for _, name := range names {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	if since := c.family.excluded.Load(); since != nil {
		add(*since)
	}
	add(c.brought().exclude)
	return all
}
