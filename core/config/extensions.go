package config

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"github.com/fettle-dev/fettle/core/config/internal/contributions"
	"github.com/fettle-dev/fettle/core/config/internal/servers"
	"github.com/fettle-dev/fettle/core/config/internal/toolrules"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// extensionsFolder holds the extensions of a person, below the settings directory.
const extensionsFolder = "extensions"

// Extensions say which extensions a session has. The zero value is those that the
// person has installed and enabled.
type Extensions struct {
	Disabled bool // there are none, whatever else is said
	// Only are the names, in any case of letters, of the only ones that are active,
	// whatever else disables them; "none" alone is none. nil: those that are enabled.
	Only []string
	// Folders are the embedder's own extensions, each a directory with a manifest.
	// What the settings say of where extensions may come from is not for them.
	Folders []string

	said *saidOfExtensions // by settings; nil: nothing
}

// saidOfExtensions is what settings say of extensions.
type saidOfExtensions struct {
	off      []string // extensions.disabled
	allowed  []string // security.allowedExtensions
	blockGit bool     // security.blockGitExtensions
}

// fillExtensions takes over what the settings say.
func (p *Parameters) fillExtensions(s settings.Settings) {
	p.Extensions.said = &saidOfExtensions{s.Extensions.Disabled, s.Security.AllowedExtensions, s.Security.BlockGitExtensions}
}

// ExtensionStore returns the directory of the person's extensions, as this session
// sees it. The error is of code not_initialized.
func (c *Config) ExtensionStore() (*extensions.Store, error) {
	if _, err := c.services("ExtensionStore"); err != nil {
		return nil, err
	}
	return c.family.extensions.Store(), nil
}

// Extensions returns the extensions that there are, by name, those that are not
// active too (EX-02). They must not be changed. The error is of code
// not_initialized.
func (c *Config) Extensions() ([]extensions.Extension, error) {
	if _, err := c.services("Extensions"); err != nil {
		return nil, err
	}
	found, _ := c.family.extensions.Found()
	return found, nil
}

// ExtensionProblems returns what is wrong with extensions, and which of their
// parts are not used for it. The error is of code not_initialized.
func (c *Config) ExtensionProblems() ([]fault.Problem, error) {
	if _, err := c.services("ExtensionProblems"); err != nil {
		return nil, err
	}
	_, problems := c.family.extensions.Found()
	return problems, nil
}

// extensionOptions say where extensions are. Extensions are the person's, so that
// they are there in every directory; an untrusted one gives them no values.
func (c *Config) extensionOptions(target string) extensions.Options {
	p := c.params()
	o := extensions.Options{
		Folders: p.Extensions.Folders, Workspace: target, Home: p.home(), Trusted: p.Trust == trust.Trusted,
		Off: p.Extensions.Disabled, Only: p.Extensions.Only,
		ContextFiles: []string{p.Layout.ContextFile, "GEMINI.md"}, Hooks: contributions.HooksOf, Rules: contributions.CheckRules,
		Getenv: func(name string) (string, bool) {
			if p.variables == nil {
				return "", false
			}
			value, _ := p.variables(name)
			return value, value != ""
		},
		LooksSecret: func(name, value string) bool {
			return settings.LooksSecret(name, value) || value != "" && slices.Contains(p.Secrets, value)
		},
	}
	if said := p.Extensions.said; said != nil {
		o.Disabled, o.Allowed, o.BlockGit = said.off, said.allowed, said.blockGit
	}
	if dir, err := c.userDir(); err == nil {
		o.Dir = filepath.Join(dir, extensionsFolder)
	}
	return o
}

// openExtensions finds the extensions; tmp is the user's directory for the project, "" if
// there is none.
func (c *Config) openExtensions(ctx context.Context, target, tmp string) error {
	o := contributions.Options{Target: target, Servers: c.servers, Secrets: c.params().SecretsFound, Logger: c.params().Logger}
	o.Plans = func() (folders []string, kept string) {
		if tmp != "" {
			kept = filepath.Join(tmp, planFolders)
		}
		return append(PlansFolders(), path.Join(c.params().Layout.Dir, plansFolder)), kept
	}
	return c.family.extensions.Open(ctx, c.extensionOptions(target), o)
}

// planFolders holds, in what fettle keeps of a project, a file for each directory that
// has become plan mode's own there.
const planFolders = "plan-folders"

// PlansFolders are the directories of plans below the one that is worked in, with
// slashes: those of all layouts.
func PlansFolders() []string {
	return []string{path.Join(layout.Fettle().Dir, plansFolder), path.Join(layout.Gemini().Dir, plansFolder)}
}

// CheckExcludedTool reports that an entry of a list of excluded tools denies more
// than is written, since the commands between its brackets are not understood; nil:
// they are. The error is of code invalid_config.
func CheckExcludedTool(text string) error { return toolrules.CheckExcluded(text) }

// CheckExtensionRules finds what is wrong with the rules of an extension, as
// sessions read them. Paths are absolute.
func CheckExtensionRules(ctx context.Context, e extensions.Extension) []fault.Problem {
	return contributions.CheckRules(ctx, e)
}

// brought returns what the active extensions of a session bring now, never nil, from
// the beginning of Initialize on.
func (c *Config) brought() *contributions.Set { return c.family.extensions.Contributed() }

// EnableExtension has an extension contribute what it has, for this session and
// whatever else disables it, as [Config.ReloadExtensions] does. To enable it for
// good, see [extensions.Store.SetEnabled]. The error is of code invalid_config
// where there is none of that name, or one of ReloadExtensions.
func (c *Config) EnableExtension(ctx context.Context, name string) error {
	return c.switchExtension(ctx, "EnableExtension", name, true)
}

// DisableExtension has an extension contribute nothing any more in this session:
// its servers have ended when it returns. The errors are those of EnableExtension.
func (c *Config) DisableExtension(ctx context.Context, name string) error {
	return c.switchExtension(ctx, "DisableExtension", name, false)
}

// ReloadExtensions reads the extensions again, and puts in force what they
// contribute now (AR-32): tools of servers and agents, exclusions, rules, hooks,
// skills and context files come and go; servers that are gone, or are reached in
// another way, are ended and waited for, new ones are begun to connect where the
// session's are. Where plans are written stays. What derived Configs have been
// given as tools they keep until they are closed. A call that runs meanwhile may
// find a tool gone. The error is of code not_initialized or cancelled; then some of
// it may not be in force, and calling it again puts it right. In a derived Config it
// is the reload of the one that all are derived from.
func (c *Config) ReloadExtensions(ctx context.Context) error {
	root, err := c.extensionsRoot("ReloadExtensions")
	if err != nil {
		return err
	}
	root.family.extensions.Changing.Lock()
	defer root.family.extensions.Changing.Unlock()
	return root.reloadExtensions(ctx)
}

// extensionsRoot is the Config that all of a family are derived from.
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
		return fault.New(fault.InvalidConfig, "config.extensions", fmt.Sprintf("There is no extension %q.", escape.ClipBytes(name, 60)), "fettle extensions list shows those that there are.")
	}
	return root.reloadExtensions(ctx)
}

// reloadExtensions is ReloadExtensions of the root; its Changing is held.
func (c *Config) reloadExtensions(ctx context.Context) error {
	sh, err := c.services("ReloadExtensions")
	if err != nil {
		return err
	}
	s, err := c.own("ReloadExtensions")
	if err != nil {
		return err
	}
	before := c.brought()
	if err := c.family.extensions.Find(ctx); err != nil {
		return err
	}
	if err := sh.rules.Apply(ctx, c.brought(), c.servers().Names()); err != nil {
		return err
	}
	c.loadHooks(sh)
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

// exchangeServers ends the servers of extensions that are gone, or are others now,
// and begins the new ones.
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

// renewTools takes the tools away that are excluded now, and brings those back that
// no longer are.
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
	own, err := c.bindOwnTools(c.lentTo(sh, s))
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

// lentTo are the services that tools of the embedder's are bound to.
func (c *Config) lentTo(sh *shared, s *session) Services {
	return Services{
		Workspace: sh.workspace, FileState: s.state, Mutations: s.mutation, Tracker: s.tracker, Finder: &sh.finder, Processes: s.processes,
	}
}
