package config

import (
	"slices"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/policy"
)

// family is what a Config and those derived from it know of each other.
type family struct {
	turns   atomic.Int64 // how often a cache was turned off
	ceiling atomic.Pointer[ceiling]
}

// ceiling is an approval mode that a settings file has brought while the family
// runs: whoever has a less strict one takes it on, once. What is set later by a
// call holds.
type ceiling struct {
	mode policy.ApprovalMode
	turn int64
}

// lower puts a ceiling over all modes of now.
func (f *family) lower(mode policy.ApprovalMode) {
	next := &ceiling{mode: mode, turn: 1}
	if now := f.ceiling.Load(); now != nil {
		next.turn = now.turn + 1
	}
	f.ceiling.Store(next) // by one reload at a time
}

// stricter reports whether a asks more than b does.
func stricter(a, b policy.ApprovalMode) bool {
	order := []policy.ApprovalMode{policy.ModeYolo, policy.ModeAutoEdit, policy.ModeDefault, policy.ModePlan}
	return slices.Index(order, a) > slices.Index(order, b)
}

// heedCeiling takes on a ceiling that is new; c.mu is held.
func (c *Config) heedCeiling() {
	now := c.family.ceiling.Load()
	if now == nil || now.turn <= c.heeded {
		return
	}
	c.heeded = now.turn
	if c.beforePlan != "" && stricter(now.mode, c.beforePlan) {
		c.beforePlan = now.mode
	}
	if stricter(now.mode, c.mode) {
		c.setMode(now.mode)
	}
}

// lowerMode puts a mode in force wherever a less strict one is.
func (c *Config) lowerMode(mode policy.ApprovalMode, origin string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heedCeiling()
	before := c.mode
	c.family.lower(mode)
	c.heedCeiling()
	if c.mode != before {
		c.announce(keyMode, c.mode, origin)
	}
}
