// Package config composes a session's services and tells where each is. A
// Config is for embedders and front ends; no tool ever sees one.
package config

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/internal/filewatch"
	"github.com/fettle-dev/fettle/core/config/internal/serving"
	"github.com/fettle-dev/fettle/core/config/internal/toolrules"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools"
)

// Config is one conversation: its values, its services and its tools. Two
// Configs share nothing but what the operating system shares, except that a
// derived one uses its parent's workspace and settings (AR-05). It is safe
// for concurrent use.
type Config struct {
	given  *Parameters                // as New completed them; never changed
	filled atomic.Pointer[Parameters] // given, with what the settings say; replaced as a whole
	parent *Config                    // nil for a Config made by New
	hatch  hatch
	bus    *bus.MessageBus // the parameters', or this Config's or its parent's own
	ownBus bool            // bus is this Config's own, and ends with it

	family *family // of all Configs derived from one

	subagent string // whose conversation it is; "" is the main agent

	initializing chan struct{}   // holds a token while Initialize runs
	watching     filewatch.Watch // of settings files
	toolsChanged serving.Changes // of this conversation's registry

	mu        sync.Mutex // taken before a parent's, never after it
	sessionID string
	model     string // set by SetModel; "": the Parameters'
	mode      policy.ApprovalMode
	// modeCalled and hatchCalled say that a call has turned the knob, so that
	// settings do not.
	modeCalled, hatchCalled bool
	planAsked               bool // a call, or the Parameters, have brought the plan mode that is in force

	heeded int64 // the family's last ceiling that was taken on
	// beforePlan is the mode that was in force before plan mode; "" where that
	// is not in force, or has been from the start, or a file has brought it.
	beforePlan policy.ApprovalMode
	phase      phase
	shared     *shared
	session    *session

	ofAgent      bool                   // it is the conversation of a subagent's run
	agentDepth   int                    // how many agents called one another to get here
	agents       []*subagent.Definition // these, the first one first
	agentRecords *Transcripts           // where subagents' runs are recorded; nil: nowhere

	discoveryProblems []error
}

// phase is where a Config is in its life.
type phase int

const (
	created phase = iota
	initialized
	closed
)

// New returns a Config. It does no I/O; services come with Initialize. The
// error is of code invalid_config, or untrusted_folder where yolo is refused; what TrustOf and the settings say
// of yolo is for Initialize.
func New(p Parameters) (*Config, error) {
	if err := p.complete(); err != nil {
		return nil, err
	}
	mode, err := p.permittedMode(p.ApprovalMode) // of the Parameters alone; Initialize knows the settings
	if err != nil {
		return nil, err
	}
	c := &Config{given: &p, sessionID: p.SessionID, mode: mode, planAsked: mode == policy.ModePlan, initializing: make(chan struct{}, 1), family: &family{}}
	c.filled.Store(c.given)
	if c.bus = p.Bus; c.bus == nil {
		c.bus, c.ownBus = bus.New(bus.Options{OnDefect: c.onDefect}), true
	}
	c.hatch.turns = &c.family.turns
	if hatchAtStart(&p) {
		c.hatch.set(true)
	}
	return c, nil
}

// Initialize reads the settings, opens the workspace and registers the tools
// (AR-03); it changes no file, see [Config.Recover]. A second or concurrent call
// waits for the first and builds nothing twice; after a failure it may be tried
// again. A discovery that it runs finds the Config's services not there yet;
// what goes wrong in one is no error, see [Config.DiscoveryProblems], and neither
// is a mistake in a settings file, see [Config.SettingsProblems], unless it
// takes away what protects somebody. Errors are of code invalid_config,
// untrusted_folder where yolo is refused, cancelled or not_initialized (closed),
// or that of Parameters.TrustOf.
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

// open makes the services and puts them in place.
func (c *Config) open(ctx context.Context, b *begun) error {
	c.filled.Store(b.params)
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
	if err := c.loadSkills(ctx, sh); err != nil { // before the tool that activates them is made
		return errors.Join(err, sh.close())
	}
	s, err := c.newSession(sh)
	if err != nil {
		return errors.Join(err, sh.close())
	}
	if err := c.loadAgents(ctx, sh, s); err != nil { // before the tools are discovered (AR-11)
		return errors.Join(err, sh.close())
	}
	c.noteDiscovery(split(s.registry.Discover(ctx))...) // listings are in order whenever they are asked for
	if b.result != nil {
		sh.settings = &liveSettings{options: b.options, result: b.result, usable: b.usable}
	}
	if err := c.begin(sh, s); err != nil {
		return errors.Join(err, sh.close())
	}
	c.startServers(ctx, sh)
	if c.given.WatchSettings && sh.settings != nil {
		c.watch(ctx, sh.settings)
	}
	return nil
}

// begin puts services in place and turns the knobs that no call has turned yet
// as the parameters say, unless the Config has been closed.
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
	if p := c.params(); p.Settings != nil && !c.hatchCalled {
		c.hatch.own.Store(nil)
		if *p.FileReadCacheDisabled {
			c.hatch.set(true)
		}
	}
	c.shared, c.session, c.phase = sh, s, initialized
	return nil
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
		p.ExcludeTools = append(p.ExcludeTools, toolrules.Names(tools.ParseEntry(entry))...) // as none of these rules could deny a part
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

// Close ends the Config: services are no longer handed out, commands that run,
// background processes and what they have left behind are ended and waited
// for, which takes up to a second where they ignore SIGTERM, and the workspace
// is closed. Close derived Configs first; a Config whose parent is closed can
// no longer be used, and what it has started has ended too. Close is
// idempotent. Calls that are running fail at their next look at a file, and
// open questions are refused. A message bus of the Config's own is closed too,
// which waits for its handlers; none of them may call Close.
func (c *Config) Close() error {
	if c.ownBus {
		_ = c.bus.Close() // always nil
	}
	c.watching.End()
	sh, s, wasOpen := c.end()
	switch {
	case !wasOpen:
		return nil
	case c.parent == nil:
		c.family.extensions.Changing.Lock() // who holds it may still begin something that is to be ended
		defer c.family.extensions.Changing.Unlock()
		return sh.close()
	case s != nil:
		s.skills.End()
		return sh.processes.close(s.processes)
	}
	return nil
}

// end takes the services away, and reports whether they were there.
func (c *Config) end() (sh *shared, s *session, wasOpen bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sh, s, wasOpen = c.shared, c.session, c.phase == initialized
	c.phase, c.shared, c.session = closed, nil, nil
	return sh, s, wasOpen
}

// MessageBus returns the bus that questions, answers and events of this Config
// and of those derived from it go over. It is there from New on, so that a
// front end can subscribe before the first call.
func (c *Config) MessageBus() *bus.MessageBus { return c.bus }

// params are the Parameters with what the settings say. They are not to be
// changed.
func (c *Config) params() *Parameters { return c.filled.Load() }

func (c *Config) currentPhase() phase {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.phase
}

// checkPhase returns nil if services may be handed out: the Config, in phase
// p, and all that it derives from are open.
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

// services returns what a Config shares with those derived from it, as long as
// it may be handed out to whoever asks for what.
func (c *Config) services(what string) (*shared, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.checkPhase(what, c.phase); err != nil {
		return nil, err
	}
	return c.shared, nil
}

func notInitialized(what, when, remedy string) error {
	return fault.New(fault.NotInitialized, "config."+what, what+" was asked of a Config "+when+".", remedy)
}
