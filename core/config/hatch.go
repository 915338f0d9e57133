package config

import "sync/atomic"

// hatch is the switch that turns the file-read cache off (RC-28). A derived
// Config follows its parent's until it has a position of its own (RC-30).
type hatch struct {
	parent *hatch
	own    atomic.Bool // has a position of its own; always so without a parent
	off    atomic.Bool // the cache is off
	opened atomic.Int64
}

func (h *hatch) set(off bool) {
	h.off.Store(off)
	h.own.Store(true)
	if off {
		h.opened.Add(1)
	}
}

// disabled returns the position in force.
func (h *hatch) disabled() bool {
	if h.parent != nil && !h.own.Load() {
		return h.parent.disabled()
	}
	return h.off.Load()
}

// epoch counts how often a position in force turned the cache off: a cache
// filled in another epoch is to be emptied (RC-29).
func (h *hatch) epoch() int64 {
	n := h.opened.Load()
	if h.parent != nil && !h.own.Load() {
		n += h.parent.epoch()
	}
	return n
}

// SetFileReadCacheDisabled turns the file-read cache off or on again, from
// the next check on. Turning it off empties it, so that turning it on starts
// from nothing (RC-29). Derived Configs without a setting of their own follow.
func (c *Config) SetFileReadCacheDisabled(off bool) {
	c.hatch.set(off)
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	if off && s != nil {
		s.state.Cache.Clear()
	}
}

// FileReadCacheDisabled reports whether the file-read cache is off.
func (c *Config) FileReadCacheDisabled() bool { return c.hatch.disabled() }
