package config

import "github.com/fettle-dev/fettle/core/policy"

// DeriveParameters are what a derived Config has of its own; zero fields are
// the parent's.
type DeriveParameters struct {
	ApprovalMode          policy.ApprovalMode
	CoreTools             []string // nil: the parent's
	ExcludeTools          []string // added to the parent's
	FileReadCacheDisabled *bool    // nil: follows the parent's, now and later (RC-30)
}

// Derive returns a Config for a subagent (AR-05): it shares workspace,
// settings and front end, and owns its counter, cache, tracker and registry
// (RC-24, RC-25). It is ready for use, without Initialize; its services are
// made when first asked for, and those of two derived Configs always differ.
// Close it before c. The error is of code not_initialized or invalid_config.
func (c *Config) Derive(d DeriveParameters) (*Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase != initialized {
		return nil, notInitialized("Derive", c.phase)
	}
	p := c.params
	p.SessionID = newSessionID()
	p.ApprovalMode = c.mode
	if d.ApprovalMode != "" {
		p.ApprovalMode = d.ApprovalMode
	}
	if d.CoreTools != nil {
		p.CoreTools = d.CoreTools
	}
	p.ExcludeTools = append(append([]string(nil), p.ExcludeTools...), d.ExcludeTools...)
	p.Discover = nil
	child, err := New(p)
	if err != nil {
		return nil, err
	}
	child.parent = c
	child.shared = c.shared
	child.phase = initialized
	child.hatch.parent = &c.hatch
	child.hatch.own.Store(false)
	child.hatch.opened.Store(0)
	if d.FileReadCacheDisabled != nil {
		child.hatch.set(*d.FileReadCacheDisabled)
	}
	return child, nil
}
