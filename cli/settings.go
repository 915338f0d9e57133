package cli

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/services/webfetch"
	"github.com/fettle-dev/fettle/core/standard"
)

// settings returns the flags that are settings, by key, as far as they were
// given. Their paths count from the current folder, whatever --cwd says.
func (g *globalFlags) settings() map[string]any {
	given := map[string]any{}
	if g.modeSet {
		given["general.defaultApprovalMode"] = g.approvalMode
	}
	if g.model != "" {
		given["model.name"] = g.model
	}
	if g.coreToolsSet {
		given["tools.core"] = append([]string{}, g.coreTools...) // not nil: an empty list means none
	}
	for key, list := range map[string][]string{
		"tools.allowed": g.allowedTools, "tools.exclude": g.excludeTools,
		"context.includeDirectories": absolute(g.includeDirs),
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

// givenSettings are the settings' options that only a program knows: its flags
// and its environment.
func (g *globalFlags) givenSettings() settings.Options {
	file := g.settingsFile
	if file != "" {
		file = absolute([]string{file})[0]
	}
	return settings.Options{File: file, Environ: os.Environ(), Flags: g.settings(), Above: recordedTrust(g)}
}

// useSettings has the Config read the settings, of which the flags are a layer,
// again when they change if the session is to watch them, and gives it what only
// a program knows.
func useSettings(s sessionOptions, p *config.Parameters) {
	g, o := s.flags, s.flags.givenSettings()
	p.Settings, p.WatchSettings = &o, s.watch
	p.PolicyPaths = absolute(g.policyPaths) // no setting, but in the place of one
	p.TrustOf = func(ctx context.Context, folders []string) (trust.State, error) { return trustOf(ctx, g, folders) }
	if g.extensionsOn {
		p.Extensions.Only = append([]string{}, g.extensions...) // an empty list is none
	}
	p.MCP = config.MCP{Later: true, Dial: standard.Servers(s.signIn.options())}
	p.WebFetch = webfetch.Options{UserAgent: "fettle/" + versionOf().Version, Proxy: http.ProxyFromEnvironment}
}

// absolute returns paths that count from the current folder as absolute ones;
// nil stays nil, and an empty path empty. ~/ is the home folder.
func absolute(paths []string) []string {
	var all []string
	for _, p := range paths {
		if rest, ok := strings.CutPrefix(p, "~/"); ok {
			if home, err := os.UserHomeDir(); err == nil {
				p = filepath.Join(home, rest)
			}
		}
		if p != "" {
			if abs, err := filepath.Abs(p); err == nil { // else the current folder is gone, which is told where it is used
				p = abs
			}
		}
		all = append(all, p)
	}
	return all
}
