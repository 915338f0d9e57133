package config

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/services/websearch"
	"github.com/fettle-dev/fettle/core/tools/plan"
)

// begun is what Initialize begins with.
type begun struct {
	params  Parameters       // with what the settings say
	options settings.Options // of the settings, to load them again
	result  *settings.Result // nil without settings
	usable  *usable          // nil without settings
	search  io.Closer        // the search service that was made of the settings; nil: there is none
}

// load reads the settings, unless the Parameters name none, and decides on
// trust.
func (c *Config) load(ctx context.Context) (begun, error) {
	b := begun{params: c.given}
	p := &b.params
	if err := p.decideTrust(ctx); err != nil || p.Settings == nil {
		return b, err
	}
	b.options = p.settingsOptions()
	if err := b.read(ctx, c.given); err != nil {
		return b, err
	}
	if err := p.decideTrust(ctx); err != nil { // now that all folders are known
		return b, err
	}
	if b.options.Undecided && p.Trust == trust.Undecided && b.result.Trusted { // by security.folderTrust.enabled
		p.Trust = trust.Trusted
	}
	if b.result.Trusted && p.Trust != trust.Trusted { // because of a folder that the settings name
		b.options.Trusted, b.options.Undecided = false, false
		given := c.given
		given.Trust = p.Trust
		if err := b.read(ctx, given); err != nil {
			return b, err
		}
	}
	if err := checkPolicyPaths(c.given.PolicyPaths); err != nil {
		return b, err
	}
	if stops := b.usable.stops; stops != nil {
		return b, fault.New(fault.InvalidConfig, "config.settings", stops.String(), "")
	}
	if err := b.openSearch(); err != nil {
		return b, err
	}
	b.result.Problems = slices.Concat(b.result.Problems, b.usable.dropped, b.usable.lasting)
	for _, problem := range b.result.Problems {
		p.Logger.Warn("settings", slog.String("problem", problem.String()))
	}
	return b, nil
}

// read loads the settings and fills given with them.
func (b *begun) read(ctx context.Context, given Parameters) error {
	r, err := settings.Load(ctx, b.options)
	if err != nil {
		return err
	}
	state := b.params.Trust
	b.result, b.params = r, given
	b.params.Trust = state
	if b.usable, err = usableOf(ctx, &given, r); err != nil {
		return err
	}
	return b.params.fill(b.usable, r)
}

// decideTrust asks whether the folders of the workspace, as far as they are
// known, are trusted.
func (p *Parameters) decideTrust(ctx context.Context) error {
	if p.TrustOf == nil {
		return nil
	}
	state, err := p.TrustOf(ctx, append([]string{p.target()}, p.IncludeDirs...))
	if err != nil {
		return err
	}
	p.Trust = state
	return nil
}

// target is the target folder, absolute unless the current folder is not known.
func (p *Parameters) target() string {
	if abs, err := filepath.Abs(p.TargetDir); err == nil {
		return abs
	}
	return p.TargetDir
}

// home is the folder in which the user's settings folder lies; "" if there is
// none.
func (p *Parameters) home() string {
	if p.HomeDir != "" {
		return p.HomeDir
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return dir
}

// settingsOptions are the given ones, with what the Config knows itself.
func (p *Parameters) settingsOptions() settings.Options {
	o := *p.Settings
	o.Layout, o.HomeDir, o.ProjectDir = p.Layout, p.home(), p.target()
	o.Trusted, o.Undecided, o.DefaultTools = p.Trust == trust.Trusted, p.Trust == trust.Undecided, DefaultTools(p.Layout)
	o.Confined = o.Confined || p.Commands.Confinement.Kind != process.Unconfined
	return o
}

// fill gives the fields that are zero what the settings say that can be used;
// see [Parameters.Settings].
func (p *Parameters) fill(u *usable, r *settings.Result) error {
	s := u.Settings
	if p.ApprovalMode == "" {
		mode, err := policy.ParseApprovalMode(s.General.DefaultApprovalMode)
		if err != nil {
			return err // a value that is none was left out before
		}
		p.ApprovalMode = mode
	}
	p.Protections.add(s.Security)
	p.Model = cmp.Or(p.Model, s.Model.Name)
	if p.IncludeDirs == nil {
		p.IncludeDirs = s.Context.IncludeDirectories
	}
	if p.PolicyPaths == nil {
		p.PolicyPaths = s.PolicyPaths
	}
	p.fillTools(s, r)
	if p.FileReadCacheDisabled == nil {
		p.FileReadCacheDisabled = &s.Tools.FileReadCacheDisabled
	}
	p.fillFileFiltering(s.Context.FileFiltering)
	if p.ToolCommands == (ToolCommands{}) {
		p.ToolCommands = ToolCommands{Discovery: s.Tools.DiscoveryCommand, Call: s.Tools.CallCommand}
	}
	p.fillCommands(s.Tools, s.Security, r)
	p.WebFetch.AllowPrivate = p.WebFetch.AllowPrivate || s.Web.AllowPrivateAddresses
	if p.WebFetch.Allow == nil {
		p.WebFetch.Allow = s.Web.AllowedHosts
	}
	return nil
}

// fillTools is about the lists of tools, and where their entries were given.
func (p *Parameters) fillTools(s settings.Settings, r *settings.Result) {
	if p.CoreTools == nil {
		p.CoreTools = s.Tools.Core
	}
	if p.AllowedTools == nil {
		p.AllowedTools, p.AllowedFrom = s.Tools.Allowed, places(r, "tools.allowed")
	}
	if p.ConfirmationRequired == nil {
		const key = "tools.confirmationRequired"
		p.ConfirmationRequired, p.ConfirmationFrom = s.Tools.ConfirmationRequired, places(r, key)
	}
	if p.ExcludeTools != nil {
		return
	}
	p.ExcludeTools, p.ExcludedFrom = slices.Clone(s.Tools.Exclude), places(r, "tools.exclude")
	if todos := plan.WriteTodos; !s.UseWriteTodos && !slices.Contains(p.ExcludeTools, todos) {
		o := originOf(r, "useWriteTodos") // somebody gives it, as it is on by itself
		p.ExcludeTools = append(p.ExcludeTools, todos)
		p.ExcludedFrom[todos] = Place{Source: o.Source, Line: o.Line, Rule: "useWriteTodos"}
	}
}

// add forbids what the settings forbid.
func (p *Protections) add(s settings.Security) {
	p.NoYolo = p.NoYolo || s.DisableYoloMode
	p.NoAlwaysAllow = p.NoAlwaysAllow || s.DisableAlwaysAllow
	p.NoSaving = p.NoSaving || !s.EnablePermanentToolApproval
}

// places returns where the entries of a list were given, flags aside.
func places(r *settings.Result, key string) map[string]Place {
	all := map[string]Place{}
	for _, e := range r.Entries(key) {
		if e.Origin.Layer != settings.LayerFlags {
			all[e.Text] = Place{Source: e.Origin.Source, Line: e.Origin.Line}
		}
	}
	return all
}

func (p *Parameters) fillFileFiltering(s settings.FileFiltering) {
	f := &p.FileFiltering
	f.NoGitIgnore = f.NoGitIgnore || !s.RespectGitIgnore
	f.NoOwnIgnore = f.NoOwnIgnore || !s.RespectFettleIgnore
	if f.CustomFiles == nil {
		f.CustomFiles = s.CustomIgnoreFilePaths
	}
	f.MaxFiles = cmp.Or(f.MaxFiles, s.MaxFileCount)
}

// fillCommands is about the commands of the shell tool, which also see the
// variables of .env files, and not those that are kept from them.
func (p *Parameters) fillCommands(s settings.Tools, security settings.Security, r *settings.Result) {
	c := &p.Commands
	c.Idle, c.Total = cmp.Or(c.Idle, s.Shell.Idle()), cmp.Or(c.Total, s.Shell.Total())
	c.Terminal = c.Terminal || s.Shell.EnableInteractiveShell && process.TerminalsExist
	if c.Confinement.Kind == process.Unconfined {
		c.Confinement = confinement(s.Sandbox)
	}
	if c.Environ != nil || len(r.Env) == 0 && !security.EnvironmentVariableRedaction.Enabled {
		return
	}
	var added []string
	outside := p.reachesOutside()
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		if !outside || !r.OfProject(name) {
			added = append(added, name+"="+r.Env[name])
		}
	}
	redact := redaction(security.EnvironmentVariableRedaction)
	c.Environ = func() []string { return redact.of(append(os.Environ(), added...)) }
}

// reachesOutside reports whether the environment of commands reaches a program
// that nothing confines, though commands are.
func (p *Parameters) reachesOutside() bool {
	switch p.Commands.Confinement.Kind {
	case process.Unconfined:
		return false
	case process.Container:
		return true
	}
	return p.ToolCommands.Discovery != ""
}

// confinement is what settings that can be used say about commands.
func confinement(s settings.Sandbox) process.Confinement {
	c := process.Confinement{Writable: s.AllowedPaths, NoTCP: !s.NetworkAccess}
	switch s.Kind() {
	case settings.SandboxNone:
		return process.Confinement{}
	case settings.SandboxLandlock:
		c.Kind = process.Landlock
	case settings.SandboxContainer:
		c.Kind, c.Program, c.Image = process.Container, s.Command, s.Image
	}
	return c
}

// absolute returns a path of settings as an absolute one: ~/ is the home folder,
// and others count from the target folder. An empty path stays empty.
func (p *Parameters) absolute(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && p.home() != "" {
		return filepath.Join(p.home(), rest)
	}
	if path != "" && !filepath.IsAbs(path) {
		return filepath.Join(p.target(), path)
	}
	return path
}

// checkPolicyPaths refuses policy files of the Parameters that are not there,
// as rules that protect would be missing.
func checkPolicyPaths(paths []string) error {
	for _, path := range paths {
		if err := there(path, false); err != nil {
			return fault.Wrap(fault.InvalidConfig, "config.settings", fmt.Sprintf("The policy %s cannot be read: %v.", path, err),
				"Give --policy files or folders that exist.", err)
		}
	}
	return nil
}

// openSearch makes the service that searches the web.
func (b *begun) openSearch() error {
	p := &b.params
	if p.WebSearch != nil || b.usable.search == nil {
		return nil
	}
	service, err := b.usable.search(websearch.Transport{UserAgent: p.WebFetch.UserAgent, Proxy: p.WebFetch.Proxy})
	if err != nil {
		return err // the check has found no mistake in it
	}
	p.WebSearch, b.search = service, service
	return nil
}

func (b *begun) closeSearch() error { return closeIfAny(b.search) }

func closeIfAny(c io.Closer) error {
	if c == nil {
		return nil
	}
	return c.Close()
}
