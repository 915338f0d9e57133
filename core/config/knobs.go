package config

import (
	"cmp"
	"encoding/json"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/internal/apply"
	"github.com/fettle-dev/fettle/core/policy"
)

// The keys of the knobs, by which changes are announced.
const (
	keyMode  = apply.KeyMode
	keyModel = "model.name"
	keyHatch = apply.KeyHatch
)

// changeMode puts a mode in force and announces it; c.mu is held.
func (c *Config) changeMode(mode policy.ApprovalMode) {
	c.heedCeiling()
	before := c.mode
	c.setMode(mode)
	c.modeCalled, c.planAsked = true, mode == policy.ModePlan
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
	c.mode, c.planAsked = mode, false
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
	c.mu.Lock() // first, as Initialize judges the mode under it once it knows what is permitted
	defer c.mu.Unlock()
	mode, err := c.params().permittedMode(m)
	if err != nil {
		return err
	}
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

// turnHatch turns the hatch as origin says, the path of a file or "" for a call.
func (c *Config) turnHatch(disabled bool, origin string) {
	c.mu.Lock()
	changed := c.hatch.position().Disabled != disabled
	c.hatch.set(disabled)
	c.hatchCalled = c.hatchCalled || origin == ""
	if changed || origin != "" {
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
