// Package config assembles the services of a session. A [Config], made by [New]
// from [Parameters], is one conversation: [Config.Initialize] reads settings,
// policy, extensions and context files and opens the services, the accessors
// return them, [Config.Derive] makes the Config of a subagent, and [Config.Close]
// ends everything. It is for embedders and front ends; tools receive only the
// services that they need.
package config

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/agent/recordings"
	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/internal/filewatch"
	"github.com/fettle-dev/fettle/core/config/internal/forking"
	"github.com/fettle-dev/fettle/core/config/internal/serving"
	"github.com/fettle-dev/fettle/core/config/internal/toolrules"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools/toollist"
)

// Config is one conversation: its values, its services and its tools. Two Configs
// share no state but that of the operating system, except that a derived one uses
// its parent's workspace and settings. It is safe for concurrent use.
type Config struct {
	given      *stored                // as completed by New
	filled     atomic.Pointer[stored] // given, completed by the settings; replaced as a whole
	parent     *Config                // nil for a Config made by New
	killSwitch killSwitch
	bus        *bus.MessageBus // that of the Parameters, or this Config's or its parent's own
	ownBus     bool            // bus belongs to this Config, and is closed with it

	family *family // of all Configs derived from one

	subagent string // whose conversation it is; "" is the main agent

	initializing chan struct{}   // holds a token while Initialize runs
	watching     filewatch.Watch // of settings files
	toolsChanged serving.Changes // of this conversation's registry

	mu        sync.Mutex // acquired before a parent's, never after it
	sessionID string
	model     string // set by SetModel; "": that of the Parameters
	mode      policy.ApprovalMode
	// modeCalled and killSwitchCalled record that a call has set the value, so that
	// settings do not.
	modeCalled, killSwitchCalled bool
	planAsked                    bool // a call, or the Parameters, have requested the current plan mode

	appliedCeiling int64 // the last ceiling of the family that was applied
	// beforePlan is the mode before plan mode. It is "" outside of plan mode, and
	// if plan mode was the initial mode or was set by a file.
	beforePlan policy.ApprovalMode
	phase      phase
	shared     *shared
	session    *session
	ownFork    bool // it works on a fork of its own, which is created with the first service

	ofAgent      bool                   // it is the conversation of a subagent's run
	agentDepth   int                    // number of agents in the call chain
	agents       []*subagent.Definition // the agents in the call chain, outermost first
	agentRecords *recordings.Store      // where subagents' runs are recorded; nil: nowhere

	discoveryProblems []error
}

// phase is a phase in the life of a Config.
type phase int

const (
	created phase = iota
	initialized
	closed
)

// New returns a Config. It does no I/O; Initialize opens the services. The error
// has code invalid_config, or untrusted_folder if yolo is refused; Initialize
// checks yolo again against TrustOf and the settings.
func New(p Parameters) (*Config, error) {
	if err := p.complete(); err != nil {
		return nil, err
	}
	given := p.store()
	mode, err := given.permittedMode(p.Policy.ApprovalMode) // only by the Parameters; Initialize knows the settings
	if err != nil {
		return nil, err
	}
	c := &Config{given: given, sessionID: p.Session.ID, mode: mode, planAsked: mode == policy.ModePlan, initializing: make(chan struct{}, 1), family: &family{}}
	c.filled.Store(c.given)
	if c.bus = p.Session.Bus; c.bus == nil {
		c.bus, c.ownBus = bus.New(bus.Options{OnDefect: c.onDefect}), true
	}
	c.killSwitch.turns = &c.family.turns
	if killSwitchAtStart(given) {
		c.killSwitch.set(true)
	}
	return c, nil
}

// Initialize reads the settings, opens the workspace and registers the tools. It
// changes no file, see [Config.Recover]. A second or concurrent call waits for
// the first and creates nothing twice; after a failure it may be retried. While
// Initialize runs the discovery of tools, the Config's services are not available
// yet. A problem in a discovery is not an error, see [Config.DiscoveryProblems];
// neither is a mistake in a settings file, see [SettingsService.Problems], unless
// it removes a protection. Errors have code invalid_config, untrusted_folder if
// yolo is refused, cancelled or not_initialized (closed), or are those of
// Parameters.Policy.TrustOf.
func (c *Config) Initialize(ctx context.Context) error {
	select {
	case c.initializing <- struct{}{}:
		defer func() { <-c.initializing }()
	case <-ctx.Done():
		return fault.WasCancelled("config.Initialize", ctx.Err())
	}
	if p := c.currentPhase(); p != created {
		return c.checkPhase("Initialize", p)
	}
	b, err := c.load(ctx)
	if err != nil {
		return err
	}
	if err := c.open(ctx, &b); err != nil {
		c.filled.Store(c.given)
		return err
	}
	return nil
}

// open creates the services and publishes them.
func (c *Config) open(ctx context.Context, b *begun) error {
	if b.params != nil {
		c.filled.Store(b.params.store())
	}
	if _, err := c.modeAtStart(); err != nil {
		return errors.Join(err, b.closeSearch())
	}
	sh, err := c.openShared(ctx)
	if err != nil {
		return errors.Join(err, b.closeSearch())
	}
	sh.search = b.search
	c.openHooks(sh)
	c.loadHooks(sh)
	if err := c.loadSkills(ctx, sh); err != nil { // before the tool that activates them is created
		return errors.Join(err, sh.close())
	}
	s, err := c.newSession(sh)
	if err != nil {
		return errors.Join(err, sh.close())
	}
	if err := c.loadAgents(ctx, sh, s); err != nil { // before the tools are discovered
		return errors.Join(err, sh.close())
	}
	c.noteDiscovery(split(s.registry.Discover(ctx))...) // lists are complete as soon as they are available
	if b.result != nil {
		sh.settings = &liveSettings{options: b.options, result: b.result, usable: b.usable}
	}
	if err := c.begin(sh, s); err != nil {
		return errors.Join(err, sh.close())
	}
	c.startServers(ctx, sh)
	if c.given.Session.WatchSettings && sh.settings != nil {
		c.watch(ctx, sh.settings)
	}
	return nil
}

// begin publishes the services and applies the parameters that no call has
// overridden yet, unless the Config has been closed.
func (c *Config) begin(sh *shared, s *session) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase == closed {
		return c.checkPhase("Initialize", closed)
	}
	mode, err := c.startingMode()
	if err != nil {
		return err
	}
	c.mode = mode
	if p := c.params(); p.Settings != nil && !c.killSwitchCalled {
		c.killSwitch.own.Store(nil)
		if *p.Session.FileReadCacheDisabled {
			c.killSwitch.set(true)
		}
	}
	c.shared, c.session, c.phase = sh, s, initialized
	if mode != policy.ModeAuto || c.params().Tools.Shell.confinesByMounts() {
		return nil
	}
	if c.given.Settings != nil && !c.modeCalled && c.given.Policy.ApprovalMode == "" {
		c.family.autoNoticed.Store(true) // it is a problem of the settings
		return nil
	}
	c.announce(keyMode, mode, "")
	return nil
}

// Derive returns a Config for a subagent. It shares workspace, settings and front
// end, and owns its counter, cache, tracker and registry. It needs no Initialize;
// its services are created on first use and never shared with another derived
// Config. Its registry contains c's discovered tools; tools that were registered
// in c's registry as built-ins stay in c only. Close it before c. The error has
// code not_initialized, invalid_config, or untrusted_folder if yolo is refused.
func (c *Config) Derive(d DeriveParameters) (*Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.checkPhase("Derive", c.phase); err != nil {
		return nil, err
	}
	sh, err := c.placed(context.Background())
	if err != nil {
		return nil, err
	}
	if d.Fork && sh.fork != nil {
		return nil, forking.Nested()
	}
	p := c.params().parameters()
	c.applyCeiling()
	p.Settings, p.Session.WatchSettings, p.Policy.TrustOf = nil, false, nil // the parent's apply
	p.Session.ID = bus.NewID()
	p.Policy.ApprovalMode, p.Conversation.Model = c.mode, cmp.Or(d.Model, c.modelInForce())
	if d.ApprovalMode != "" {
		p.Policy.ApprovalMode = c.params().cautious(d.ApprovalMode)
	}
	if d.CoreTools != nil {
		p.Tools.Core = slices.DeleteFunc(slices.Clone(d.CoreTools), func(entry string) bool { // the rules are the parent's
			return !toollist.ParseEntry(entry).Whole() && !slices.Contains(c.params().Tools.Core, entry)
		})
	}
	p.Tools.Exclude = slices.Clone(p.Tools.Exclude)
	for _, entry := range d.ExcludeTools {
		p.Tools.Exclude = append(p.Tools.Exclude, toolrules.Names(toollist.ParseEntry(entry))...) // because none of these rules could deny a part
	}
	p.Session.FileReadCacheDisabled, p.Environment.Getenv, p.Tools.Discover = nil, nil, nil
	p.Tools.DiscoveryCommand, p.Tools.CallCommand = "", ""
	p.Session.NoSession = p.Session.NoSession || d.NoSession
	if p.Session.Bus = c.bus; d.OwnBus {
		p.Session.Bus = nil
	}
	child, err := New(p)
	if err != nil {
		return nil, err
	}
	child.parent, child.shared, child.phase = c, sh, initialized
	if child.subagent = d.Subagent; d.Subagent == "" {
		child.subagent = c.subagent
	}
	child.agentDepth, child.agents = c.agentDepth, c.agents
	child.family, child.appliedCeiling = c.family, c.appliedCeiling
	child.planAsked = c.planAsked || d.ApprovalMode != ""
	child.killSwitch.parent, child.killSwitch.turns = &c.killSwitch, &c.family.turns
	if d.FileReadCacheDisabled != nil {
		child.killSwitch.set(*d.FileReadCacheDisabled)
	}
	child.ownFork = d.Fork
	return child, nil
}

// Close ends the Config: it stops providing services, terminates running
// commands, background processes and their descendants, waits for them, which
// takes up to a second if they ignore SIGTERM, and closes the workspace. A fork of
// its own is closed, too, and dropped unless it has changes to merge. Close
// derived Configs first; closing a parent invalidates them, and ends everything
// that they have started. Derived Configs with a fork of their own are closed,
// too. Close is idempotent. Running calls fail at their next file access, and open
// questions are refused. A message bus that the Config created is closed as well,
// which waits for its handlers; none of them may call Close.
func (c *Config) Close() error {
	if c.ownBus {
		_ = c.bus.Close() // always nil
	}
	c.watching.End()
	sh, s, wasOpen := c.end()
	if !wasOpen {
		return nil
	}
	closed := sh.forked.closeBelow(c)
	if c.parent == nil {
		c.family.extensions.Changing.Lock() // a holder of the lock may still start something that has to be ended
		defer c.family.extensions.Changing.Unlock()
		return errors.Join(closed, sh.close())
	}
	errs := []error{closed}
	if s != nil {
		s.skills.End()
		errs = append(errs, s.processes.close())
	}
	if c.ownFork && sh.fork != nil {
		errs = append(errs, c.leave(sh))
	}
	return errors.Join(errs...)
}

// end withdraws the services, and reports whether they were open.
func (c *Config) end() (sh *shared, s *session, wasOpen bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sh, s, wasOpen = c.shared, c.session, c.phase == initialized
	c.phase, c.shared, c.session = closed, nil, nil
	return sh, s, wasOpen
}

// MessageBus returns the bus for questions, answers and events of this Config and
// of those derived from it. It is available as soon as New returns, so that a
// front end can subscribe before the first call.
func (c *Config) MessageBus() *bus.MessageBus { return c.bus }

// params returns the Parameters completed by the settings.
func (c *Config) params() *stored { return c.filled.Load() }

func (c *Config) currentPhase() phase {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.phase
}

// checkPhase returns nil if services may be handed out: the Config, in phase p,
// and its ancestors are open.
func (c *Config) checkPhase(what string, p phase) error {
	switch p {
	case created:
		return notInitialized(what, "before Initialize", "Call Initialize(ctx) first and check its error.")
	case closed:
		return notInitialized(what, "that is closed", "Make a new Config.")
	}
	for above := c.parent; above != nil; above = above.parent {
		if above.currentPhase() == closed {
			return notInitialized(what, "whose parent is closed", "Close derived Configs first, and make new ones from an open Config.")
		}
	}
	return nil
}

// services returns the services shared with derived Configs. what names the
// requested service in the error.
func (c *Config) services(what string) (*shared, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.checkPhase(what, c.phase); err != nil {
		return nil, err
	}
	return c.placed(context.Background())
}

func notInitialized(what, when, remedy string) error {
	return fault.New(fault.NotInitialized, "config."+what, what+" was called on a Config "+when+".", remedy)
}
