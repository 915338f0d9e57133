package program

import (
	"context"
	"net/http"
	"os"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/services/webfetch"
	"github.com/fettle-dev/fettle/core/standard"
)

// settings returns the flags that are settings, by key, as far as they were
// given. Their paths count from the current directory, whatever --cwd says.
func (g *Flags) settings() map[string]any {
	given := map[string]any{}
	if g.modeSet {
		given["general.defaultApprovalMode"] = g.ApprovalMode
	}
	if g.Model != "" {
		given["model.name"] = g.Model
	}
	if g.CoreToolsSet {
		given["tools.core"] = append([]string{}, g.CoreTools...) // not nil: an empty list means none
	}
	for key, list := range map[string][]string{
		"tools.allowed": g.allowedTools, "tools.exclude": g.excludeTools,
		"context.includeDirectories": Absolute(g.IncludeDirs),
	} {
		if len(list) > 0 {
			given[key] = list
		}
	}
	if g.noReadCache != nil {
		given["tools.fileReadCacheDisabled"] = *g.noReadCache
	}
	if g.maxResult != 0 {
		given["tools.maxResultBytes"] = g.maxResult
	}
	return given
}

// GivenSettings are the settings' options that only a program knows: its flags
// and its environment.
func (g *Flags) GivenSettings() settings.Options {
	file := g.settingsFile
	if file != "" {
		file = Absolute([]string{file})[0]
	}
	return settings.Options{File: file, Environ: os.Environ(), Flags: g.settings(), Above: recordedTrust(g)}
}

// useSettings has the Config read the settings, of which the flags are a layer,
// again when they change if the session is to watch them, and gives it what only
// a program knows.
func useSettings(s SessionOptions, p *config.Parameters) {
	g, o := s.Flags, s.Flags.GivenSettings()
	p.Settings, p.WatchSettings = &o, s.Watch
	p.PolicyPaths = Absolute(g.PolicyPaths) // no setting, but in the place of one
	p.TrustOf = func(ctx context.Context, folders []string) (trust.State, error) { return TrustOf(ctx, g, folders) }
	if g.extensionsOn {
		p.Extensions.Only = append([]string{}, g.extensions...) // an empty list is none
	}
	p.MCP = config.MCP{Later: true, Dial: standard.Servers(s.SignIn.options())}
	p.WebFetch = webfetch.Options{UserAgent: "fettle/" + VersionOf().Version, Proxy: http.ProxyFromEnvironment}
}

// SettingsOptions says which settings the flags and the environment mean, for a
// command that has no session to find out the rest.
func SettingsOptions(ctx context.Context, g *Flags) (settings.Options, error) {
	names, _ := layout.Named(g.Layout) // the flag takes no other name
	project, err := filepath.Abs(g.Cwd)
	if err != nil {
		return settings.Options{}, &ExitError{Code: ExitConfig, Err: fault.Wrap(fault.InvalidConfig, "cli",
			"The current directory is not known.", "Give --cwd an absolute path.", err)}
	}
	state, err := TrustOf(ctx, g, []string{project})
	if err != nil {
		return settings.Options{}, TrustFailure(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // then there are no settings of the person's
	}
	o := g.GivenSettings()
	o.Layout, o.HomeDir, o.ProjectDir, o.DefaultTools = names, home, project, config.DefaultTools(names)
	o.Trusted, o.Undecided = state == trust.Trusted, state == trust.Undecided
	return o, nil
}

// ConfigFailure gives an error of settings its exit code.
func ConfigFailure(err error) error {
	switch fault.CodeOf(err) {
	case fault.Cancelled:
		return Interrupted()
	case fault.InvalidConfig:
		return &ExitError{Code: ExitConfig, Err: err}
	}
	return err
}
