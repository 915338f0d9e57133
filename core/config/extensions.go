package config

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/fettle-dev/fettle/core/config/internal/contributions"
	"github.com/fettle-dev/fettle/core/config/internal/paths"
	"github.com/fettle-dev/fettle/core/config/internal/rules"
	"github.com/fettle-dev/fettle/core/config/internal/servers"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// extensionsDir is the name of the user's directory of extensions, below the
// settings directory.
const extensionsDir = "extensions"

// Extensions configures the extensions of a session. The zero value uses those
// that the user has installed and enabled.
type Extensions struct {
	Disabled bool // no extensions, whatever the other fields
	// Only lists the names, in any case, of the only active extensions, even if
	// they are disabled otherwise; a single "none" means none. nil: the enabled
	// ones.
	Only []string
	// Dirs are extensions of the embedder, each a directory with a
	// manifest. Settings that restrict the sources of extensions do not apply to
	// them.
	Dirs []string

	configured *extensionSettings // the settings; nil: none
}

// extensionSettings holds the settings about extensions.
type extensionSettings struct {
	off      []string // extensions.disabled
	allowed  []string // security.allowedExtensions
	blockGit bool     // security.blockGitExtensions
	noClaude bool     // extensions.claudeDirectories is false
}

// fillExtensions applies the settings.
func (p *Parameters) fillExtensions(s settings.Settings) {
	p.Extensions.configured = &extensionSettings{s.Extensions.Disabled, s.Security.AllowedExtensions, s.Security.BlockGitExtensions, !s.Extensions.ClaudeDirectories}
}

// claudeDir is the name of the directory of settings of Claude Code.
const claudeDir = ".claude"

// claudeDirs returns the directories of settings of Claude Code in the home
// directory and in the trusted project, whose commands, agents and skills are read; ""
// for none.
func (p *stored) claudeDirs(target string) (user, project string) {
	if set := p.Extensions.configured; p.Extensions.Disabled || set == nil || set.noClaude {
		return "", ""
	}
	if home := p.Environment.home(); home != "" {
		user = filepath.Join(home, claudeDir)
	}
	if project = filepath.Join(target, claudeDir); paths.Same(project, user) || p.Policy.Trust != trust.Trusted {
		project = ""
	}
	return user, project
}

// Store returns the directory of the user's extensions as seen by this
// session. The error has code not_initialized.
func (x ExtensionService) Store() (*extensionstore.Store, error) {
	c := x.c

	if _, err := c.services("Extensions.Store"); err != nil {
		return nil, err
	}
	return c.family.extensions.Store(), nil
}

// List returns all extensions, including inactive ones, sorted by name.
// They must not be modified. The error has code not_initialized.
func (x ExtensionService) List() ([]extensions.Extension, error) {
	c := x.c

	if _, err := c.services("Extensions.List"); err != nil {
		return nil, err
	}
	found, _ := c.family.extensions.Found()
	return found, nil
}

// Problems returns the problems in extensions, and the parts that are
// not used because of them. The error has code not_initialized.
func (x ExtensionService) Problems() ([]fault.Problem, error) {
	c := x.c

	if _, err := c.services("Extensions.Problems"); err != nil {
		return nil, err
	}
	_, problems := c.family.extensions.Found()
	return problems, nil
}

// extensionOptions returns the locations of extensions. Extensions belong to the
// user and are available in every directory; an untrusted directory provides no
// values for them.
func (c *Config) extensionOptions(target string) extensionstore.Options {
	p := c.params()
	o := extensionstore.Options{
		Dirs: p.Extensions.Dirs, Workspace: target, Home: p.Environment.home(), Trusted: p.Policy.Trust == trust.Trusted,
		Off: p.Extensions.Disabled, Only: p.Extensions.Only,
		ContextFiles: []string{p.Environment.Layout.ContextFile, "GEMINI.md"}, Hooks: contributions.HooksOf, Rules: contributions.CheckRules,
		Omitted: contributions.Omitted,
		Getenv: func(name string) (string, bool) {
			if p.variables == nil {
				return "", false
			}
			value, _ := p.variables(name)
			return value, value != ""
		},
		LooksSecret: func(name, value string) bool {
			return settings.LooksSecret(name, value) || value != "" && slices.Contains(p.Environment.Secrets, value)
		},
	}
	if set := p.Extensions.configured; set != nil {
		o.Disabled, o.Allowed, o.BlockGit = set.off, set.allowed, set.blockGit
	}
	if dir, err := c.userDir(); err == nil {
		o.Dir = filepath.Join(dir, extensionsDir)
	}
	return o
}

// openExtensions finds the extensions; tmp is the user's directory for the
// project, "" if there is none.
func (c *Config) openExtensions(ctx context.Context, target, tmp string) error {
	o := contributions.Options{Target: target, Servers: c.servers, Secrets: c.params().Environment.SecretsFound, Logger: c.params().Environment.Logger}
	o.Plans = func() (dirs []string, kept string) {
		if tmp != "" {
			kept = filepath.Join(tmp, planDirs)
		}
		return append(layout.PlanDirs(), c.params().Environment.Layout.Plans()), kept
	}
	return c.family.extensions.Open(ctx, c.extensionOptions(target), o)
}

// planDirs is the name of a directory, in the user's directory for the
// project, with a file for each directory that plan mode has claimed for plans.
const planDirs = "plan-folders"

// brought returns the current contributions of the session's active extensions.
// It is never nil once Initialize has begun.
func (c *Config) brought() *contributions.Set { return c.family.extensions.Contributed() }

// Enable activates an extension for this session, even if it is disabled
// otherwise, and applies the change like [ExtensionService.Reload]. To enable an
// extension permanently, see [extensionstore.Store.SetEnabled]. The error has code
// invalid_config for an unknown extension, or is that of [ExtensionService.Reload].
func (x ExtensionService) Enable(ctx context.Context, name string) error {
	c := x.c

	return c.switchExtension(ctx, "Extensions.Enable", name, true)
}

// Disable deactivates an extension in this session. Its servers have
// ended when it returns. The errors are those of [ExtensionService.Enable].
func (x ExtensionService) Disable(ctx context.Context, name string) error {
	c := x.c

	return c.switchExtension(ctx, "Extensions.Disable", name, false)
}

// Reload reads the extensions again and applies their current
// contributions: it adds and removes tools of servers and agents, exclusions,
// rules, hooks, skills and context files; it shuts down and awaits servers that
// were removed or are configured differently, and starts to connect new ones if
// the session's servers are started. The directory of plans stays. Derived
// Configs keep their tools until they are closed. A concurrent call may find a
// tool removed. The error has code not_initialized or cancelled; some changes may
// not be applied then, and calling it again completes them. In a derived Config
// it reloads the root Config.
func (x ExtensionService) Reload(ctx context.Context) error {
	c := x.c

	root, err := c.extensionsRoot("Extensions.Reload")
	if err != nil {
		return err
	}
	root.family.extensions.Changing.Lock()
	defer root.family.extensions.Changing.Unlock()
	return root.reloadExtensions(ctx)
}

// extensionsRoot returns the root of the family.
func (c *Config) extensionsRoot(what string) (*Config, error) {
	for {
		if err := c.checkPhase(what, c.currentPhase()); err != nil || c.parent == nil {
			return c, err
		}
		c = c.parent
	}
}

func (c *Config) switchExtension(ctx context.Context, what, name string, on bool) error {
	root, err := c.extensionsRoot(what)
	if err != nil {
		return err
	}
	x := &root.family.extensions
	x.Changing.Lock()
	defer x.Changing.Unlock()
	there := x.Switch(name, on)
	if !there { // it may have been installed since
		if err := root.reloadExtensions(ctx); err != nil {
			return err
		}
		there = x.Switch(name, on)
	}
	if !there {
		return fault.New(fault.InvalidConfig, "config.extensions", fmt.Sprintf("There is no extension %q.", escape.ClipBytes(name, 60)), "fettle extensions list lists the extensions.")
	}
	return root.reloadExtensions(ctx)
}

// reloadExtensions implements [ExtensionService.Reload] for the root. The caller
// holds its Changing.
func (c *Config) reloadExtensions(ctx context.Context) error {
	sh, err := c.services("Extensions.Reload")
	if err != nil {
		return err
	}
	s, err := c.own("Extensions.Reload")
	if err != nil {
		return err
	}
	before := c.brought()
	if err := c.family.extensions.Find(ctx); err != nil {
		return err
	}
	if err := sh.rules.Apply(ctx, rules.Brought(c.brought().Rules(ctx)), c.servers().Names()); err != nil {
		return err
	}
	c.loadHooks(sh)
	sh.forked.each(func(c *Config, sh *shared) { c.loadHooks(sh) })
	if err := c.loadSkills(ctx, sh); err != nil {
		return err
	}
	s.tracker.ForgetInstructions()
	if err := c.exchangeServers(ctx, sh, s); err != nil {
		return err
	}
	if err := c.renewAgents(ctx, sh, s); err != nil {
		return err
	}
	return c.renewTools(ctx, sh, s, before.Exclude)
}

// exchangeServers shuts down servers of extensions that were removed or changed,
// and starts the new ones.
func (c *Config) exchangeServers(ctx context.Context, sh *shared, s *session) error {
	m := sh.servers.Load()
	opened := m == nil
	if opened {
		if m = c.openServers(sh); m == nil {
			return nil
		}
		sh.servers.Store(m)
		for _, t := range c.resourceTools(sh) {
			if err := s.registry.Register(t); err != nil {
				return err
			}
		}
	}
	return servers.Exchange(ctx, m, c.mcpServers(sh.workspace.Target()), opened, !c.params().MCP.Later)
}

// renewTools removes the tools that are excluded now, and restores those that are
// no longer excluded.
func (c *Config) renewTools(ctx context.Context, sh *shared, s *session, before []string) error {
	others := c.offers()
	for _, t := range s.registry.All() {
		if spec := t.Spec(); !others.Includes(spec, true) {
			s.registry.Unregister(spec.Name)
		}
	}
	now := c.brought().Exclude
	if !slices.ContainsFunc(before, func(name string) bool { return !slices.Contains(now, name) }) {
		return nil
	}
	builtIn, err := c.bindBuiltIns(sh, s)
	if err != nil {
		return err
	}
	own, err := c.bindOwnTools(sh, s)
	if err != nil {
		return err
	}
	has := s.registry.Names()
	for _, t := range append(builtIn, own...) {
		if slices.Contains(has, t.Spec().Name) {
			continue
		}
		if err := s.registry.Register(t); err != nil {
			return err
		}
	}
	if m := sh.servers.Load(); m != nil {
		for _, server := range m.Servers() {
			c.offer(server.Name)
		}
	}
	c.noteDiscovery(split(s.registry.Discover(ctx))...)
	return nil
}

// lentTo returns the services to which the embedder's tools are bound.
func (c *Config) lentTo(sh *shared, s *session) Services {
	return Services{
		Workspace: sh.workspace, FileState: s.state, Mutations: s.mutation, Tracker: s.tracker, Finder: &sh.finder,
		Processes: s.processes.service(),
	}
}
