package config

import (
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/services/filestate"
)

// hatch is the switch that turns the file-read cache off (RC-28). A derived
// Config's follows its parent's until it has a position of its own (RC-30).
type hatch struct {
	parent *hatch        // nil for a Config made by New
	turns  *atomic.Int64 // how often a cache was turned off in this family of Configs
	own    atomic.Pointer[filestate.Hatch]
}

func (h *hatch) set(disabled bool) {
	p := filestate.Hatch{Disabled: disabled, Turn: h.position().Turn}
	if disabled {
		p.Turn = h.turns.Add(1)
	}
	h.own.Store(&p)
}

// position returns the position in force.
func (h *hatch) position() filestate.Hatch {
	for ; h != nil; h = h.parent {
		if p := h.own.Load(); p != nil {
			return *p
		}
	}
	return filestate.Hatch{}
}

// SetFileReadCacheDisabled turns the file-read cache off or on again, from
// the next check on. Turning it off empties it, so that turning it on starts
// from nothing (RC-29). Derived Configs without a setting of their own follow.
func (c *Config) SetFileReadCacheDisabled(disabled bool) {
	c.hatch.set(disabled)
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	if s != nil {
		s.state.HeedHatch()
	}
}

// FileReadCacheDisabled reports whether the file-read cache is off.
func (c *Config) FileReadCacheDisabled() bool { return c.hatch.position().Disabled }
