package config

import (
	"slices"

	"github.com/fettle-dev/fettle/core/policy"
)

// ceiling is an approval mode that a settings file has brought while the family
// runs: whoever has a less strict one takes it on, once. What is set later by a
// call holds.
type ceiling struct {
	mode   policy.ApprovalMode
	origin string // path of the file, or "default"
	turn   int64
}

// lower puts a ceiling over all modes of now.
func (f *family) lower(mode policy.ApprovalMode, origin string) {
	next := &ceiling{mode: mode, origin: origin, turn: 1}
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

// heedCeiling takes on a ceiling that is new, and reports whether the mode has
// changed by it, which it announces then; c.mu is held.
func (c *Config) heedCeiling() bool {
	now := c.family.ceiling.Load()
	if now == nil || now.turn <= c.heeded {
		return false
	}
	c.heeded = now.turn
	changed := stricter(now.mode, c.mode)
	if changed {
		c.setMode(now.mode)
		c.announce(keyMode, now.mode, now.origin)
	}
	switch {
	case now.mode == policy.ModePlan:
		c.beforePlan = "" // nothing looser comes back
	case c.beforePlan != "" && stricter(now.mode, c.beforePlan):
		c.beforePlan = now.mode
	}
	return changed
}

// lowerMode puts a mode of a file in force wherever a less strict one is, and
// announces what is in force now.
func (c *Config) lowerMode(mode policy.ApprovalMode, origin string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.family.lower(mode, origin)
	if !c.heedCeiling() {
		c.announce(keyMode, c.mode, origin)
	}
}
