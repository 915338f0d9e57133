package config

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/fork"
	"github.com/fettle-dev/fettle/core/services/tracker"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/services/webfetch"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// The following accessors return the same service at each call until Close. Their
// error has code not_initialized.

// own returns this conversation's services, created on first use in a derived
// Config.
func (c *Config) own(what string) (*session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.checkPhase(what, c.phase); err != nil {
		return nil, err
	}
	if c.session == nil {
		sh, err := c.placed(context.Background())
		if err != nil {
			return nil, err
		}
		s, err := c.newSession(sh)
		if err != nil {
			return nil, err
		}
		c.session = s
	}
	return c.session, nil
}

// ToolRegistry returns the tools of this conversation.
func (c *Config) ToolRegistry() (*tools.Registry, error) {
	s, err := c.own("ToolRegistry")
	if err != nil {
		return nil, err
	}
	return s.registry, nil
}

// Scheduler returns the scheduler of this conversation's tool calls.
func (c *Config) Scheduler() (*scheduler.Scheduler, error) {
	s, err := c.own("Scheduler")
	if err != nil {
		return nil, err
	}
	return s.scheduler, nil
}

// SessionStateService returns this conversation's version counter.
func (c *Config) SessionStateService() (*filestate.SessionStateService, error) {
	s, err := c.own("SessionStateService")
	if err != nil {
		return nil, err
	}
	return &s.state.Versions, nil
}

// FileReadCache returns the record of files shown in this conversation.
func (c *Config) FileReadCache() (*filestate.FileReadCache, error) {
	s, err := c.own("FileReadCache")
	if err != nil {
		return nil, err
	}
	s.state.ApplyKillSwitch()
	return &s.state.Cache, nil
}

// FileState returns the service for this conversation's reads and decisions.
func (c *Config) FileState() (*filestate.Service, error) {
	s, err := c.own("FileState")
	if err != nil {
		return nil, err
	}
	return s.state, nil
}

// FileTracker returns this conversation's tracker.
func (c *Config) FileTracker() (*tracker.FileTracker, error) {
	s, err := c.own("FileTracker")
	if err != nil {
		return nil, err
	}
	return s.tracker, nil
}

// Workspace returns the accessible directories.
func (c *Config) Workspace() (*workspace.Workspace, error) {
	sh, err := c.services("Workspace")
	if err != nil {
		return nil, err
	}
	return sh.workspace, nil
}

// Fork returns the fork on which this Config works, with its changes so far; nil for
// one that works on the directories themselves. It must not be closed. The error is
// that of [fork.Store.Create], or has code not_initialized.
func (c *Config) Fork() (*fork.Fork, error) {
	sh, err := c.services("Fork")
	if err != nil {
		return nil, err
	}
	return sh.fork, nil
}

// Forks returns the forks of this project. The error has code not_initialized, or
// invalid_config if there is no home directory to keep them in.
func (c *Config) Forks() (*fork.Store, error) {
	sh, err := c.services("Forks")
	if err != nil {
		return nil, err
	}
	return sh.kept()
}

// The following accessors never fail.

// SessionID returns the ID of the current session.
func (c *Config) SessionID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessionID
}

// TargetDir returns the target directory as given in the Parameters.
func (c *Config) TargetDir() string { return c.params().TargetDir }

// Layout returns the names in use.
func (c *Config) Layout() layout.Layout { return c.params().Environment.Layout }

// Trust returns the trust of the directory as given in the Parameters. If TrustOf
// or the settings decide, it is known after Initialize. Only the files of a
// trusted project may loosen restrictions.
func (c *Config) Trust() trust.State { return c.params().Policy.Trust }

// CoreTools returns the list of registered built-in tools; nil means the default
// set. The value is the one in effect: that of the Parameters, else of the
// settings, which are known after Initialize; in a derived Config, with the
// DeriveParameters applied.
func (c *Config) CoreTools() []string { return slices.Clone(c.params().Tools.Core) }

// DebugMode reports whether debug mode is on.
func (c *Config) DebugMode() bool { return c.params().Environment.DebugMode }

// fetcher fetches pages according to the current settings. Fetches in progress
// during a change continue with the old ones.
type fetcher struct {
	mu    sync.Mutex
	o     *webfetch.Options // current; validated and immutable
	now   *webfetch.Service // created on first use, because most sessions fetch nothing
	past  []*webfetch.Service
	ended bool
}

// current returns the current service; after close, a closed one.
func (f *fetcher) current() (*webfetch.Service, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now == nil {
		s, err := webfetch.New(*f.o)
		if err != nil {
			return nil, err // the options were validated before
		}
		if f.now = s; f.ended {
			return s, s.Close()
		}
	}
	return f.now, nil
}

func (f *fetcher) Fetch(ctx context.Context, urls []string) []webfetch.Page {
	s, err := f.current()
	if err != nil {
		pages := make([]webfetch.Page, len(urls))
		for i, u := range urls {
			pages[i] = webfetch.Page{URL: u, Err: fault.As(err)}
		}
		return pages
	}
	return s.Fetch(ctx, urls)
}

func (f *fetcher) Check(rawURL string) error {
	s, err := f.current()
	if err != nil {
		return err
	}
	return s.Check(rawURL)
}

// replace sets validated options for later fetches, unless close has been called.
func (f *fetcher) replace(o *webfetch.Options) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return
	}
	if f.now != nil {
		f.past = append(f.past, f.now)
	}
	f.o, f.now = o, nil
}

func (f *fetcher) close() error {
	f.mu.Lock()
	f.ended = true
	all := f.past
	if f.now != nil {
		all = append(all, f.now)
	}
	f.mu.Unlock()
	var errs []error
	for _, s := range all {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// A Config locates the services below by subject. Each is a small value that
// refers to its Config: it may be copied, is valid until the Config is closed,
// and may be used by several goroutines at once.

// AgentService lists the subagents of a session.
type AgentService struct{ c *Config }

// ExtensionService lists, enables, disables and reloads the installed extensions.
type ExtensionService struct{ c *Config }

// SkillService finds, activates, enables, disables and reloads skills.
type SkillService struct{ c *Config }

// HookService lists and approves hooks, and runs those of a session's start and end.
type HookService struct{ c *Config }

// SettingsService returns and reloads the merged settings, with their origins and
// problems.
type SettingsService struct{ c *Config }

// PolicyService decides calls, and lists the rule files and their problems.
type PolicyService struct{ c *Config }

// InstructionService lists and reloads the context files.
type InstructionService struct{ c *Config }

// MCPServices connects to MCP servers, and serves the session's tools over MCP.
type MCPServices struct{ c *Config }

// Agents returns the service of the subagents.
func (c *Config) Agents() AgentService { return AgentService{c} }

// Extensions returns the service of the extensions.
func (c *Config) Extensions() ExtensionService { return ExtensionService{c} }

// Skills returns the service of the skills.
func (c *Config) Skills() SkillService { return SkillService{c} }

// Hooks returns the service of the hooks.
func (c *Config) Hooks() HookService { return HookService{c} }

// Settings returns the service of the settings.
func (c *Config) Settings() SettingsService { return SettingsService{c} }

// Policy returns the service of policy decisions.
func (c *Config) Policy() PolicyService { return PolicyService{c} }

// Instructions returns the service of the context files.
func (c *Config) Instructions() InstructionService { return InstructionService{c} }

// MCP returns the services of the Model Context Protocol.
func (c *Config) MCP() MCPServices { return MCPServices{c} }

// AllowedTools returns the tools that may run without approval.
func (s PolicyService) AllowedTools() []string { return slices.Clone(s.c.params().Policy.AllowedTools) }

// ExcludedTools returns the tools that are denied; they are not registered,
// unless they were registered before the settings excluded them. Tools that
// settings exclude during a session are excluded in all derived Configs.
func (s PolicyService) ExcludedTools() []string { return s.c.excluded() }
