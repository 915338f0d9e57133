package config

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/fettle-dev/fettle/core/config/internal/apply"
	"github.com/fettle-dev/fettle/core/config/internal/paths"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/services/websearch"
)

// begun is the result of the first step of Initialize.
type begun struct {
	params  *Parameters      // completed by the settings; nil: nothing changes the given ones
	options settings.Options // of the settings, for reloads
	result  *settings.Result // nil without settings
	usable  *apply.Validated // nil without settings
	search  io.Closer        // the search service created from the settings; nil: none
}

// load reads the settings, unless the Parameters contain none, and decides on
// trust.
func (c *Config) load(ctx context.Context) (begun, error) {
	var b begun
	if err := checkPolicyPaths(c.given.Policy.Paths); err != nil {
		return b, err
	}
	if g := c.given; g.Settings == nil && g.Policy.TrustOf == nil && (g.Conversation.Models != nil || g.Conversation.Providers == nil) {
		return b, nil
	}
	given := c.given.parameters()
	p := &given
	b.params = p
	if err := p.decideTrust(ctx); err != nil {
		return b, err
	}
	if p.Settings == nil {
		p.know(p.variables)
		return b, nil
	}
	b.options = p.settingsOptions()
	if err := b.read(ctx, c.given); err != nil {
		return b, err
	}
	if err := p.decideTrust(ctx); err != nil { // now that all directories are known
		return b, err
	}
	if b.options.Undecided && p.Policy.Trust == trust.Undecided && b.result.Trusted { // by security.folderTrust.enabled
		p.Policy.Trust = trust.Trusted
	}
	if b.result.Trusted && p.Policy.Trust != trust.Trusted { // because of a directory that the settings name
		b.options.Trusted, b.options.Undecided = false, false
		given := c.given.parameters()
		given.Policy.Trust = p.Policy.Trust
		if err := b.read(ctx, given.store()); err != nil {
			return b, err
		}
	}
	if stops := b.usable.Stops; stops != nil {
		return b, fault.New(fault.InvalidConfig, "config.settings", stops.String(), "")
	}
	if err := b.openSearch(); err != nil {
		return b, err
	}
	p.know(apply.Variables(b.options.Environ, b.result))
	b.result.Problems = slices.Concat(b.result.Problems, b.usable.Dropped, b.usable.Lasting)
	for _, problem := range b.result.Problems {
		p.Environment.Logger.Warn("settings", slog.String("problem", problem.String()))
	}
	return b, nil
}

// know sets the variables, and creates the models from them unless they are
// given.
func (p *Parameters) know(v Variables) {
	p.variables = v
	if p.Conversation.Models == nil && p.Conversation.Providers != nil {
		p.Conversation.Models = p.Conversation.Providers(v)
	}
}

// givenVariables returns the variables of a session without settings.
func (p *Parameters) givenVariables() Variables {
	getenv := p.Environment.Getenv
	return func(name string) (string, bool) {
		if getenv == nil {
			return "", false
		}
		return getenv(name), false
	}
}

// read loads the settings and completes given with them.
func (b *begun) read(ctx context.Context, given *stored) error {
	r, err := settings.Load(ctx, b.options)
	if err != nil {
		return err
	}
	state := b.params.Policy.Trust
	b.result, *b.params = r, given.parameters()
	b.params.Policy.Trust = state
	if b.usable, err = apply.Check(ctx, given.before(), r); err != nil {
		return err
	}
	return b.params.fill(b.usable, r)
}

// decideTrust decides whether the directories of the workspace known so far are
// trusted.
func (p *Parameters) decideTrust(ctx context.Context) error {
	if p.Policy.TrustOf == nil {
		return nil
	}
	state, err := p.Policy.TrustOf(ctx, append([]string{p.target()}, p.IncludeDirs...))
	if err != nil {
		return err
	}
	p.Policy.Trust = state
	return nil
}

// target returns the target directory; it is absolute unless the current
// directory is unknown.
func (p *Parameters) target() string { return absolute(p.TargetDir) }

func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

// home returns the directory that contains the user's settings directory; "" if
// there is none.
func (e *Environment) home() string {
	if e.HomeDir != "" {
		return e.HomeDir
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return dir
}

// settingsOptions returns the given options, completed with values known to the
// Config.
func (p *Parameters) settingsOptions() settings.Options {
	o := *p.Settings
	o.Layout, o.HomeDir, o.ProjectDir = p.Environment.Layout, p.Environment.home(), p.target()
	o.Trusted, o.Undecided, o.DefaultTools = p.Policy.Trust == trust.Trusted, p.Policy.Trust == trust.Undecided, defaultTools(p.Environment.Layout)
	o.Confined = o.Confined || p.Tools.Shell.confines()
	if o.Above == nil && p.Policy.TrustOf != nil {
		o.Above = func(ctx context.Context, dir string) (trusted, undecided bool) {
			state, err := p.Policy.TrustOf(ctx, []string{dir})
			return err == nil && state == trust.Trusted, err == nil && state == trust.Undecided
		}
	}
	return o
}

// checkPolicyPaths returns an error for missing policy files of the Parameters,
// because protecting rules would be missing.
func checkPolicyPaths(files []string) error {
	for _, path := range files {
		if err := paths.Check(path, false); err != nil {
			return fault.Wrap(fault.InvalidConfig, "config.settings", fmt.Sprintf("The policy %s cannot be read: %v.", path, err),
				"Name an existing file or directory.", err)
		}
	}
	return nil
}

// openSearch creates the web search service.
func (b *begun) openSearch() error {
	p := b.params
	if p.Tools.WebSearch != nil || b.usable.Search == nil {
		return nil
	}
	service, err := b.usable.Search(websearch.Transport{UserAgent: p.Tools.WebFetch.UserAgent, Proxy: p.Tools.WebFetch.Proxy})
	if err != nil {
		return err // the options were validated before
	}
	p.Tools.WebSearch, b.search = service, service
	return nil
}

func (b *begun) closeSearch() error { return closeIfAny(b.search) }

func closeIfAny(c io.Closer) error {
	if c == nil {
		return nil
	}
	return c.Close()
}

// Current returns the effective values of all layers, which are the defaults
// without [Parameters.Settings]. Fields set in the Parameters take precedence
// over them. Its lists and maps are shared and must not be modified. The error
// has code not_initialized, like those of the next two methods.
func (x SettingsService) Current() (settings.Settings, error) {
	c := x.c

	r, err := c.settingsResult("Settings.Current")
	if err != nil {
		return settings.Settings{}, err
	}
	return r.Settings, nil
}

// Problems returns the problems in the settings when they were last read,
// each with its position, and the changes since Initialize that take effect in
// the next session.
func (x SettingsService) Problems() ([]fault.Problem, error) {
	c := x.c

	r, err := c.settingsResult("Settings.Problems")
	if err != nil {
		return nil, err
	}
	return slices.Clone(r.Problems), nil
}

// Origins returns the values of a key in all layers, the one with the
// highest precedence first; see [settings.Result.Origins].
func (x SettingsService) Origins(key string) ([]settings.Origin, error) {
	c := x.c

	r, err := c.settingsResult("Settings.Origins")
	if err != nil {
		return nil, err
	}
	return r.Origins(key), nil
}

func (c *Config) settingsResult(what string) (*settings.Result, error) {
	sh, err := c.services(what)
	if err != nil {
		return nil, err
	}
	if sh.settings == nil {
		return &settings.Result{Settings: settings.Defaults()}, nil
	}
	return sh.settings.current(), nil
}

// CheckSettings returns problems in loaded settings that show only when they are
// used, as Initialize of a Config with these Parameters would find them: values
// that it would ignore, and its error, which has Problem.Open set. It creates and
// starts nothing. A field of the Parameters that takes precedence over the
// settings is not checked. The error has code cancelled.
func CheckSettings(ctx context.Context, p Parameters, r *settings.Result) ([]fault.Problem, error) {
	if reflect.ValueOf(p.Environment.Layout).IsZero() {
		p.Environment.Layout = layout.Fettle()
	}
	u, err := apply.Check(ctx, p.store().before(), r)
	if err != nil {
		return nil, err
	}
	return slices.Concat(u.Dropped, u.Lasting), nil
}

// before returns the values of the Parameters that take precedence over all
// settings.
func (p *stored) before() apply.Input {
	g := apply.Input{Layout: p.Environment.Layout, Home: p.Environment.home(), Target: absolute(p.TargetDir), Tools: defaultTools(p.Environment.Layout), IncludeDirs: p.IncludeDirs, Decides: p.decides}
	if p.Settings != nil {
		g.Environ = p.Settings.Environ
	}
	return g
}

// decides reports whether the Parameters set a key, with precedence over all
// settings. Keys whose parts are set separately are not included, see fill.
func (p *stored) decides(key string) bool {
	switch key {
	case apply.KeyMode:
		return p.Policy.ApprovalMode != ""
	case apply.KeyKillSwitch:
		return p.Session.FileReadCacheDisabled != nil
	case apply.KeyInclude:
		return p.IncludeDirs != nil
	case "policyPaths":
		return p.Policy.Paths != nil
	case "skills.disabled":
		return p.Skills.Off != nil
	case "tools.allowed":
		return p.Policy.AllowedTools != nil
	case "tools.confirmationRequired":
		return p.Policy.ConfirmationRequired != nil
	case "tools.core":
		return p.Tools.Core != nil
	case "tools.discoveryCommand":
		return p.Tools.external()
	case "tools.exclude":
		return p.Tools.Exclude != nil
	case "tools.sandbox":
		return p.Tools.Shell.Confinement.Kind != process.Unconfined
	case "web.allowPrivateAddresses":
		return p.Tools.WebFetch.AllowPrivate
	case "web.allowedHosts":
		return p.Tools.WebFetch.Allow != nil
	case "web.proxyDecides":
		return p.Tools.WebFetch.ProxyDecides
	case "web.search":
		return p.Tools.WebSearch != nil
	}
	return false
}
