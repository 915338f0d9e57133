package config

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/policy"
)

// The keys of the knobs, by which changes are announced.
const (
	keyMode  = "general.defaultApprovalMode"
	keyModel = "model.name"
	keyHatch = "tools.fileReadCacheDisabled"
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

// changeMode puts a mode in force and announces it; c.mu is held.
func (c *Config) changeMode(mode policy.ApprovalMode) {
	c.heedCeiling()
	before := c.mode
	c.setMode(mode)
	c.modeCalled = true
	if before != mode {
		c.announce(keyMode, mode, "")
	}
}

// setMode changes the mode; c.mu is held.
func (c *Config) setMode(mode policy.ApprovalMode) {
	switch {
	case mode != policy.ModePlan:
		c.beforePlan = ""
	case c.mode != policy.ModePlan:
		c.beforePlan = c.mode
	}
	c.mode = mode
}

// announce tells front ends of a value that is in force from now on; c.mu is
// held, so that messages come in the order of the changes.
func (c *Config) announce(key string, value any, origin string) {
	text, err := json.Marshal(value)
	if err != nil {
		return // values of settings can be written
	}
	_ = c.bus.Publish(bus.ConfigChanged{SessionID: c.sessionID, Subagent: c.subagent, Key: key, Value: text, Origin: origin}) // a closed bus has nobody to tell
}

// ApprovalMode returns the mode in force.
func (c *Config) ApprovalMode() policy.ApprovalMode {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heedCeiling()
	return c.mode
}

// SetApprovalMode changes the mode from the next call on, and announces it as
// bus.ConfigChanged. The error is of code invalid_config, or untrusted_folder
// where yolo is refused (AR-27).
func (c *Config) SetApprovalMode(m policy.ApprovalMode) error {
	mode, err := c.params().permittedMode(m)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changeMode(mode)
	return nil
}

// Model returns the name of the model, "auto" for the program's choice.
func (c *Config) Model() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.modelInForce()
}

// modelInForce is Model; c.mu is held.
func (c *Config) modelInForce() string {
	return cmp.Or(c.model, c.params().Model, "auto")
}

// SetModel changes the model of this conversation from the next turn on, and
// announces it as bus.ConfigChanged. "" is the one that Parameters or settings
// name.
func (c *Config) SetModel(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.modelInForce()
	c.model = name
	if now := c.modelInForce(); now != before {
		c.announce(keyModel, now, "")
	}
}

// SetFileReadCacheDisabled turns the file-read cache off or on again, from the
// next check on, and announces it as bus.ConfigChanged. Turning it off empties
// it, so that turning it on starts from nothing (RC-29). Derived Configs without
// a setting of their own follow.
func (c *Config) SetFileReadCacheDisabled(disabled bool) { c.turnHatch(disabled, "") }

func (c *Config) turnHatch(disabled bool, origin string) {
	c.mu.Lock()
	changed := c.hatch.position().Disabled != disabled
	c.hatch.set(disabled)
	c.hatchCalled = true
	if changed {
		c.announce(keyHatch, disabled, origin)
	}
	s := c.session
	c.mu.Unlock()
	if s != nil {
		s.state.HeedHatch()
	}
}

// FileReadCacheDisabled reports whether the file-read cache is off.
func (c *Config) FileReadCacheDisabled() bool { return c.hatch.position().Disabled }
