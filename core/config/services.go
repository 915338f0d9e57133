package config

import (
	"slices"

	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/mutation"
	"github.com/fettle-dev/fettle/core/services/tracker"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// The accessors below return the same service at each call until Close. Their
// error is of code not_initialized.

// own returns this conversation's services, made at first use in a derived
// Config (RC-24).
func (c *Config) own(what string) (*session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.checkPhase(what, c.phase); err != nil {
		return nil, err
	}
	if c.session == nil {
		s, err := c.newSession(c.shared)
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

// Scheduler returns what runs this conversation's tool calls.
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

// FileReadCache returns what this conversation was shown.
func (c *Config) FileReadCache() (*filestate.FileReadCache, error) {
	s, err := c.own("FileReadCache")
	if err != nil {
		return nil, err
	}
	s.state.HeedHatch()
	return &s.state.Cache, nil
}

// FileState returns the reads and decisions of this conversation.
func (c *Config) FileState() (*filestate.Service, error) {
	s, err := c.own("FileState")
	if err != nil {
		return nil, err
	}
	return s.state, nil
}

// Mutations returns the one path of this conversation's changes.
func (c *Config) Mutations() (*mutation.Service, error) {
	s, err := c.own("Mutations")
	if err != nil {
		return nil, err
	}
	return s.mutation, nil
}

// FileTracker returns this conversation's tracker.
func (c *Config) FileTracker() (*tracker.FileTracker, error) {
	s, err := c.own("FileTracker")
	if err != nil {
		return nil, err
	}
	return s.tracker, nil
}

// Workspace returns the folders that may be touched.
func (c *Config) Workspace() (*workspace.Workspace, error) {
	sh, err := c.services("Workspace")
	if err != nil {
		return nil, err
	}
	return sh.workspace, nil
}

// The values below never fail.

// SessionID returns the id of the current session.
func (c *Config) SessionID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessionID
}

// TargetDir returns the folder as it was given.
func (c *Config) TargetDir() string { return c.params().TargetDir }

// Layout returns the names in use.
func (c *Config) Layout() layout.Layout { return c.params().Layout }

// Trust returns whether the folder is trusted, as the Parameters say; where they
// leave it to TrustOf or the settings, it is known after Initialize.
func (c *Config) Trust() trust.State { return c.params().Trust }

// TrustedFolder reports whether the project's own files may loosen.
func (c *Config) TrustedFolder() bool { return c.Trust() == trust.Trusted }

// CoreTools returns the built-in tools that are registered, exactly; nil means
// the default set. Like the next two it is what holds: of the Parameters, else
// of the settings, which are known after Initialize, and for a derived Config
// with what its DeriveParameters say.
func (c *Config) CoreTools() []string { return slices.Clone(c.params().CoreTools) }

// AllowedTools returns the tools that may run without asking.
func (c *Config) AllowedTools() []string { return slices.Clone(c.params().AllowedTools) }

// ExcludedTools returns the tools that are denied, and not registered unless
// they were before the settings excluded them. What settings exclude while a
// session runs counts in all derived Configs too.
func (c *Config) ExcludedTools() []string { return c.excluded() }

// DebugMode reports whether debug mode is on.
func (c *Config) DebugMode() bool { return c.params().DebugMode }
