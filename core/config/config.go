// Package config composes a session's services and tells where each is. A
// Config is for embedders and front ends; no tool ever sees one.
package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/memory"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/services/webfetch"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/skills"
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

	initializing chan struct{} // holds a token while Initialize runs
	watching     watching      // of settings files
	toolsChanged broadcast     // of this conversation's registry

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

// shared are the services that a Config and those derived from it use alike.
// They keep nothing of a conversation.
type shared struct {
	workspace *workspace.Workspace
	tmp       string // the user's folder for the project, see projectTmp; "": there is no home folder
	committer *commit.Committer
	bases     filestate.BaseStore
	settings  *liveSettings // nil: there are none
	finder    Finder
	rules     *rules
	memory    *memory.Service
	web       fetcher
	search    io.Closer // made of the settings; may be nil
	processes processes
	agents    agents
	hooks     hookset
	skills    *skills.SkillManager
	servers   atomic.Pointer[mcp.Manager] // nil: there are none

	checkpoints *Checkpoints // nil: there is no place for them
}

// New returns a Config. It does no I/O; services come with Initialize. The
// error is of code invalid_config, or untrusted_folder where yolo is refused; what TrustOf and the settings say
// of yolo is for Initialize.
func New(p Parameters) (*Config, error) {
	if p.TargetDir == "" {
		return nil, fault.New(fault.InvalidConfig, "config.new", "TargetDir is empty.", "Name the folder to work in.")
	}
	switch {
	case reflect.ValueOf(p.Layout).IsZero():
		p.Layout = layout.Fettle()
	case p.Layout.Name == "":
		return nil, fault.New(fault.InvalidConfig, "config.new", "The layout has no Name.",
			"Start from layout.Fettle() and change what differs, or leave Layout out.")
	}
	if p.Settings == nil && p.Limits.ChangedRegionsAbove == 0 && p.Layout.FullContent {
		p.Limits.ChangedRegionsAbove = -1
	}
	if p.TrustOf != nil {
		p.Trust = trust.Undecided // until it has been asked
	}
	mode, err := p.permittedMode(p.ApprovalMode) // of the Parameters alone; Initialize knows the settings
	if err != nil {
		return nil, err
	}
	if p.Settings != nil {
		o := *p.Settings
		o.Environ, o.Flags = slices.Clone(o.Environ), maps.Clone(o.Flags)
		p.Settings = &o
	}
	p.Logger = cmp.Or(p.Logger, slog.New(slog.DiscardHandler))
	if p.SessionID == "" {
		p.SessionID = bus.NewID()
	}
	p.IncludeDirs, p.Tools = slices.Clone(p.IncludeDirs), slices.Clone(p.Tools)
	p.Rules, p.Before, p.After = slices.Clone(p.Rules), slices.Clone(p.Before), slices.Clone(p.After)
	p.FileFiltering.CustomFiles = slices.Clone(p.FileFiltering.CustomFiles)
	p.Commands.Confinement.Writable = slices.Clone(p.Commands.Confinement.Writable)
	p.Commands.Withheld, p.WebFetch.Allow = slices.Clone(p.Commands.Withheld), slices.Clone(p.WebFetch.Allow)
	p.Skills.Off, p.Skills.Given, p.Skills.Folders = slices.Clone(p.Skills.Off), slices.Clone(p.Skills.Given), slices.Clone(p.Skills.Folders)
	p.CoreFrom, p.AllowedFrom, p.ExcludedFrom = maps.Clone(p.CoreFrom), maps.Clone(p.AllowedFrom), maps.Clone(p.ExcludedFrom)
	p.CoreTools, p.AllowedTools, p.ExcludeTools = slices.Clone(p.CoreTools), slices.Clone(p.AllowedTools), slices.Clone(p.ExcludeTools)
	p.ConfirmationRequired, p.ConfirmationFrom = slices.Clone(p.ConfirmationRequired), maps.Clone(p.ConfirmationFrom)
	if p.Settings == nil && p.variables == nil {
		p.variables = p.givenVariables()
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
		return cancelled("Initialize", ctx.Err())
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

// modeAtStart is the approval mode to begin with: what a call has set, else what
// the parameters say.
func (c *Config) modeAtStart() (policy.ApprovalMode, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.startingMode()
}

// startingMode is modeAtStart; c.mu is held.
func (c *Config) startingMode() (policy.ApprovalMode, error) {
	p := c.params()
	if c.modeCalled {
		return p.permittedMode(p.cautious(c.mode))
	}
	return p.permittedMode(p.cautious(p.ApprovalMode))
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

// close ends what the services have started and closes them.
func (s *shared) close() error {
	s.hooks.close()
	return errors.Join(s.closeServers(), s.processes.closeAll(), s.checkpoints.close(), s.agents.close(), s.web.close(), closeIfAny(s.search), s.workspace.Close())
}

// permittedMode reads a mode and refuses what an untrusted folder may not have
// (AR-27), and what the person has forbidden.
func (p *Parameters) permittedMode(m policy.ApprovalMode) (policy.ApprovalMode, error) {
	mode, err := policy.ParseApprovalMode(string(m))
	switch {
	case err != nil:
		return "", err
	case mode == policy.ModeYolo && p.Trust == trust.Untrusted:
		return "", fault.New(fault.UntrustedFolder, "config.mode", "The approval mode yolo is refused, as this folder is recorded as untrusted.",
			"Choose another mode, or trust the folder with fettle trust.")
	case p.cautious(mode) != mode:
		return "", fault.New(fault.InvalidConfig, "config.mode", fmt.Sprintf("The approval mode %s is refused, as %s could not be read, which may forbid it.", mode, p.unread[0].Path),
			"Choose another mode, or mend the file and begin a new session.")
	case mode == policy.ModeYolo && p.Protections.NoYolo:
		return "", fault.New(fault.InvalidConfig, "config.mode", "The approval mode yolo is refused: security.disableYoloMode forbids it.",
			"Choose another mode, or change that setting.")
	}
	return mode, nil
}

// openShared opens what a Config and its derived ones share.
func (c *Config) openShared(ctx context.Context) (*shared, error) {
	if err := ctx.Err(); err != nil {
		return nil, cancelled("Initialize", err)
	}
	if err := c.params().Commands.check(ctx); err != nil {
		return nil, err
	}
	if err := webfetch.Check(c.params().WebFetch); err != nil {
		return nil, err
	}
	ws, err := workspace.Open(append([]string{c.params().TargetDir}, c.params().IncludeDirs...)...)
	if err != nil {
		return nil, err
	}
	recovery := ""
	tmp, err := c.projectTmp(ws.RealFolders()[0])
	if err != nil {
		c.params().Logger.Warn("no home directory, so files that have to be rewritten in place will not be changed")
	} else {
		recovery = filepath.Join(tmp, recoveryFolder)
	}
	if err := c.openExtensions(ctx, ws.Target()); err != nil {
		return nil, errors.Join(err, ws.Close())
	}
	rules, err := c.loadRules(ctx, ws)
	if err != nil {
		return nil, errors.Join(err, ws.Close())
	}
	committer := commit.New(commit.Options{RecoveryDir: recovery, Hook: c.params().Seams.Commit, Logger: c.params().Logger})
	facts := memory.Options{Heading: memory.HeadingOf(c.params().Layout.Name), Committer: committer}
	if dir, err := c.userDir(); err == nil {
		facts.Path = filepath.Join(dir, c.params().Layout.ContextFile)
	}
	sh := &shared{workspace: ws, tmp: tmp, committer: committer, memory: memory.New(facts), rules: rules, skills: new(skills.SkillManager)}
	sh.web.o = &c.params().WebFetch
	sh.finder.now.Store(discovery.New(ws).With(c.params().FileFiltering.options(c.params().Layout.IgnoreFile)))
	sh.checkpoints = c.openCheckpoints(sh)
	sh.servers.Store(c.openServers(sh))
	return sh, nil
}

// Recover finishes, or reports, what killed runs left half written in files of
// this project (FS-64). Call it once, after Initialize and before the first
// change, in a session that may change files; Initialize leaves it out, since
// it writes to those files and waits for whoever holds their folders. Calling
// it again is harmless: what is finished is not found again, what cannot be
// settled is reported again. A derived Config's does the same as its parent's.
// The error, of code not_initialized, cancelled or read_content_failure, keeps
// nobody from working, and leftovers found until then stand beside it.
func (c *Config) Recover(ctx context.Context) ([]commit.Leftover, error) {
	sh, err := c.services("Recover")
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, cancelled("Recover", err)
	}
	return sh.committer.Recover(ctx)
}

func cancelled(what string, err error) *fault.Error {
	return fault.Wrap(fault.Cancelled, "config."+what, what+" was cancelled.", "", err)
}

// recoveryFolder is where in-place writes keep their bytes first (FS-64), below
// the user's folder for the project.
const recoveryFolder = "recovery"

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
	c.watching.end()
	sh, s, wasOpen := c.end()
	switch {
	case !wasOpen:
		return nil
	case c.parent == nil:
		x := &c.family.extended
		x.changing.Lock() // which may still begin something that is to be ended
		defer x.changing.Unlock()
		return sh.close()
	case s != nil:
		s.skills.end()
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

// hatchAtStart is the hatch's first position: parameter, then environment.
func hatchAtStart(p *Parameters) bool {
	if p.FileReadCacheDisabled != nil {
		return *p.FileReadCacheDisabled
	}
	if p.Getenv == nil || p.Settings != nil { // these know the variable
		return false
	}
	on, err := strconv.ParseBool(p.Getenv(p.Layout.EnvPrefix + "FILE_READ_CACHE_DISABLED"))
	return err == nil && on
}
