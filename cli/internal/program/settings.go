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
)

// settings returns the settings that flags set, by key. Their paths are relative to
// the current directory, regardless of --cwd.
func (g *Flags) settings() map[string]any {
	given := map[string]any{}
	if g.modeSet {
		given["general.defaultApprovalMode"] = g.ApprovalMode
	}
	if g.Model != "" {
		given["model.name"] = g.Model
	}
	if g.CoreToolsSet {
		given["tools.core"] = append([]string{}, g.CoreTools...) // not nil: an empty list disables all
	}
	for key, list := range map[string][]string{
		"tools.allowed": g.allowedTools, "tools.exclude": g.excludeTools,
		"context.includeDirectories": Absolute(g.IncludeDirs),
	} {
		if len(list) > 0 {
			given[key] = list
		}
	}
	if g.sandboxed {
		given["tools.sandbox.enabled"] = true
	}
	if g.serversSet {
		given["mcp.allowed"] = append([]string{}, g.servers...)
	}
	if g.noReadCache != nil {
		given["tools.fileReadCacheDisabled"] = *g.noReadCache
	}
	if g.maxResult != 0 {
		given["tools.maxResultBytes"] = g.maxResult
	}
	if len(g.EditDialect) > 0 {
		given["tools.editDialect"] = g.EditDialect
	}
	if g.staleSet {
		given["tools.staleEdits"] = g.staleEdits
	}
	return given
}

// GivenSettings returns the settings options that come from the program: its flags
// and its environment.
func (g *Flags) GivenSettings() settings.Options {
	file := g.settingsFile
	if file != "" {
		file = Absolute([]string{file})[0]
	}
	return settings.Options{File: file, Environ: os.Environ(), Flags: g.settings(), Above: recordedTrust(g)}
}

// useSettings configures the settings of the Config: the layer of the flags, the
// environment, and whether changed files are reloaded.
func useSettings(s SessionOptions, p *config.Parameters) {
	g, o := s.Flags, s.Flags.GivenSettings()
	p.Settings, p.Session.WatchSettings = &o, s.Watch
	p.Policy.Paths = Absolute(g.PolicyPaths) // not a setting, but replaces one
	p.Policy.TrustOf = func(ctx context.Context, dirs []string) (trust.State, error) { return TrustOf(ctx, g, dirs) }
	if g.extensionsOn {
		p.Extensions.Only = append([]string{}, g.extensions...) // an empty list selects none
	}
	p.MCP = config.MCP{Later: true}
	if s.Providers != nil {
		p.MCP.Dial = s.Providers.Servers(s.SignIn.options())
	}
	p.Tools.WebFetch = webfetch.Options{UserAgent: "fettle/" + VersionOf().Version, Proxy: http.ProxyFromEnvironment}
}

// SettingsOptions returns the settings options for the flags and the environment, for
// a command without a session.
func SettingsOptions(ctx context.Context, g *Flags) (settings.Options, error) {
	names, _ := layout.Named(g.Layout) // the flag accepts no other name
	project, err := filepath.Abs(g.Cwd)
	if err != nil {
		return settings.Options{}, &ExitError{Code: ExitConfig, Err: fault.Wrap(fault.InvalidConfig, "cli",
			"The current directory is unknown.", "Give --cwd an absolute path.", err)}
	}
	state, err := TrustOf(ctx, g, []string{project})
	if err != nil {
		return settings.Options{}, TrustFailure(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // then there are no user settings
	}
	o := g.GivenSettings()
	o.Layout, o.HomeDir, o.ProjectDir, o.DefaultTools = names, home, project, config.DefaultTools(names)
	o.Trusted, o.Undecided = state == trust.Trusted, state == trust.Undecided
	return o, nil
}

// ConfigFailure returns a settings error with its exit code.
func ConfigFailure(err error) error {
	switch fault.CodeOf(err) {
	case fault.Cancelled:
		return Interrupted()
	case fault.InvalidConfig:
		return &ExitError{Code: ExitConfig, Err: err}
	}
	return err
}
