package config

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
)

// forkedConfigs are the open Configs with a fork of their own, of a root Config and those derived from it. The zero value
// is empty.
type forkedConfigs struct {
	mu  sync.Mutex
	all map[*Config]*shared
}

// add adds a Config, and loads what a reload changes, so that no reload is missed.
func (f *forkedConfigs) add(c *Config, sh *shared, load func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = make(map[*Config]*shared)
	}
	f.all[c] = sh
	load()
}

func (f *forkedConfigs) remove(c *Config) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, c)
}

// each calls do for all of them.
func (f *forkedConfigs) each(do func(c *Config, sh *shared)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c, sh := range f.all {
		do(c, sh)
	}
}

// closeBelow closes those that are derived from a closed Config, directly or not.
func (f *forkedConfigs) closeBelow(parent *Config) error {
	f.mu.Lock()
	all := slices.Collect(maps.Keys(f.all))
	f.mu.Unlock()
	var errs []error
	for _, c := range all {
		for above := c.parent; above != nil; above = above.parent {
			if above == parent {
				errs = append(errs, c.Close())
				break
			}
		}
	}
	return errors.Join(errs...)
}

// root returns the Config from which this one is derived, directly or not.
func (c *Config) root() *Config {
	for c.parent != nil {
		c = c.parent
	}
	return c
}

// filter applies the current settings about files to services of files.
func (c *Config) filter(sh *shared) {
	p := c.root().params()
	sh.finder.Set(sh.finder.Get().With(p.Tools.FileFiltering.options(p.Environment.Layout.IgnoreFile)))
}

// joined adds this Config and the services of its fork to those that follow reloads and end with their parents. It is
// called under c.mu.
func (c *Config) joined(sh *shared) error {
	sh.forked.add(c, sh, func() {
		c.filter(sh)
		c.loadHooks(sh)
	})
	err := c.checkPhase("Fork", c.phase) // a parent may have been closed since
	if err != nil {
		sh.forked.remove(c)
	}
	return err
}

// leave closes the services of the fork of this Config, and its fork, which it drops unless it has changes.
func (c *Config) leave(sh *shared) error {
	sh.forked.remove(c)
	return errors.Join(sh.site.close(), sh.programs.close(), sh.fork.End(context.Background(), sh.ignored))
}
