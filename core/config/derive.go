package config

import (
	"cmp"
	"slices"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools"
)

// DeriveParameters are what a derived Config has of its own; zero fields are
// the parent's.
type DeriveParameters struct {
	// Subagent is the name that rules know the subagent by; "" is the parent's.
	Subagent string
	// ApprovalMode, where empty, is the mode that the parent has when Derive is
	// called: a snapshot. What is later set in the parent does not reach the
	// derived Config, so whoever takes a permission back has to set it in both.
	ApprovalMode          policy.ApprovalMode
	Model                 string   // "": that of the parent when Derive is called
	CoreTools             []string // nil: the parent's; an entry with brackets counts only if it is one of these
	ExcludeTools          []string // added to the parent's; whole tools, whatever stands in brackets
	FileReadCacheDisabled *bool    // nil: follows the parent's, now and later (RC-30)
	// OwnBus gives the derived Config a message bus of its own, so that what its
	// calls ask and print reaches nobody but who subscribes there. What the parent
	// shares with it, as MCP servers, still asks on the parent's.
	OwnBus bool
	// NoSession is that of Parameters; true also where the parent's is.
	NoSession bool
}

// Derive returns a Config for a subagent (AR-05): it shares workspace,
// settings and front end, and owns its counter, cache, tracker and registry
// (RC-24, RC-25). It is ready for use, without Initialize; its services are
// made when first asked for, and those of two derived Configs always differ.
// Its registry has c's discovered tools; what was registered in c's registry
// by hand as a built-in stays c's alone. Close it before c. The error is of code not_initialized, invalid_config, or untrusted_folder where yolo is refused.
func (c *Config) Derive(d DeriveParameters) (*Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.checkPhase("Derive", c.phase); err != nil {
		return nil, err
	}
	p := *c.params()
	c.heedCeiling()
	p.Settings, p.WatchSettings, p.TrustOf = nil, false, nil // these are the parent's
	p.SessionID = bus.NewID()
	p.ApprovalMode, p.Model = c.mode, cmp.Or(d.Model, c.modelInForce())
	if d.ApprovalMode != "" {
		p.ApprovalMode = p.cautious(d.ApprovalMode)
	}
	if d.CoreTools != nil {
		p.CoreTools = slices.DeleteFunc(slices.Clone(d.CoreTools), func(entry string) bool { // the rules are the parent's
			return !tools.ParseEntry(entry).Whole() && !slices.Contains(c.params().CoreTools, entry)
		})
	}
	p.ExcludeTools = slices.Clone(p.ExcludeTools)
	for _, entry := range d.ExcludeTools {
		p.ExcludeTools = append(p.ExcludeTools, namesOf(tools.ParseEntry(entry))...) // as none of these rules could deny a part
	}
	p.FileReadCacheDisabled, p.Getenv, p.Discover, p.ToolCommands = nil, nil, nil, ToolCommands{}
	p.NoSession = p.NoSession || d.NoSession
	if p.Bus = c.bus; d.OwnBus {
		p.Bus = nil
	}
	child, err := New(p)
	if err != nil {
		return nil, err
	}
	child.parent, child.shared, child.phase = c, c.shared, initialized
	if child.subagent = d.Subagent; d.Subagent == "" {
		child.subagent = c.subagent
	}
	child.agentDepth, child.agents = c.agentDepth, c.agents
	child.family, child.heeded = c.family, c.heeded
	child.planAsked = c.planAsked || d.ApprovalMode != ""
	child.hatch.parent, child.hatch.turns = &c.hatch, &c.family.turns
	if d.FileReadCacheDisabled != nil {
		child.hatch.set(*d.FileReadCacheDisabled)
	}
	return child, nil
}
